"""Runs a game written in Python as a host: speaks the host protocol and calls the game's `Match` or `MatchGroup`."""

from __future__ import annotations

import inspect
import os
import sys
import threading
import traceback
from contextlib import suppress
from typing import cast

from ludus import limits
from ludus.errors import ConfigError, ProtocolError
from ludus.sdk.batched import MatchesTogether
from ludus.sdk.concurrent import WaitingMatches
from ludus.sdk.match import AsyncMatch, HostedGame, MakeGame, Match, SendEvent
from ludus.sdk.sequential import MatchesInTurn
from ludus.sdk.slots import SlotTable, rows_at_most
from ludus.sdk.threads import ThreadRunner
from ludus.wire.bodies import Configure, ErrorBody
from ludus.wire.channel import Channel, PipeChannel
from ludus.wire.frames import FrameKind, decode_configure, encode_error, encode_event, encode_hello

CLOSE_S = 0.7  # time for matches that wait to be cancelled and closed
LEAVE_S = 1.5  # time for matches to close and threads to end; a fleet kills a host that takes longer than 2 s


def serve(make: MakeGame, channel: Channel | None = None) -> int:
    """Play until the fleet says stop, and return the exit status: 0, 1 after an error, 2 for refused options.

    Without a channel, it takes over stdin and stdout (prints go to stderr afterwards), and the process ends soon after
    this returns, even if threads of the game are still running.
    """
    if channel is not None:
        return _serve(make, channel, _Departure())
    return _serve(make, PipeChannel.take_stdio(), _ProcessDeparture())


def _serve(make: MakeGame, channel: Channel, departure: _Departure) -> int:
    try:
        return _converse(make, channel, departure)
    except BrokenPipeError:
        return 0  # the fleet has ended, which means stop
    except Exception as error:
        # the fleet broke the protocol, or a bug outside of any match: report it in an ERROR frame and end the host
        traceback.print_exc()
        departure.status = 1
        message = str(error) if isinstance(error, ProtocolError) else f"{type(error).__name__}: {error}"
        with suppress(BrokenPipeError):
            channel.send(encode_error(ErrorBody(message[: limits.MESSAGE_CHARS], "internal")))
        return 1
    finally:
        departure.begin()


def _converse(make: MakeGame, channel: Channel, departure: _Departure) -> int:
    first = channel.receive()
    if first is None or first[0] == FrameKind.STOP:
        return 0
    if first[0] != FrameKind.CONFIGURE:
        raise ProtocolError(f"first frame is {first[0].name}, expected CONFIGURE")
    configure = decode_configure(first[1])
    try:
        game = make(configure.options)
        rows_at_most(game.spec)
    except ConfigError as error:
        channel.send(encode_error(ErrorBody(str(error)[: limits.MESSAGE_CHARS], "configuration")))
        departure.status = 2
        return 2
    channel.send(encode_hello(game.spec, game.facts, drains=True))
    if game.events is not None:
        game.events(_sender(channel, configure))
    playing = _playing(game, configure)
    try:
        playing.run(SlotTable(game, configure, channel), channel)
    finally:
        departure.begin()
        playing.close(CLOSE_S)
    return 0


def _sender(channel: Channel, configure: Configure) -> SendEvent:
    """Return a function that sends events, or does nothing if the fleet did not ask for any."""
    return (lambda event: channel.send(encode_event(event))) if configure.events else (lambda event: None)


def _playing(game: HostedGame, configure: Configure) -> MatchesInTurn | MatchesTogether | WaitingMatches:
    """Return the main loop that fits the game.

    A group plays all matches in one call, `threads` uses one thread per match, async matches use an event loop, and
    other matches are played one after the other.
    """
    if game.group is not None:
        return MatchesTogether(game.group(configure.matches), game.spec, configure)
    assert game.match is not None, "a game has a match or a group"
    if game.threads:
        return WaitingMatches(game, ThreadRunner(game.match, configure.matches))
    first = game.match()
    if inspect.iscoroutinefunction(first.start):
        from ludus.sdk.event_loop import LoopRunner

        return WaitingMatches(game, LoopRunner(game.match, configure.matches, cast(AsyncMatch, first)))
    others = (cast(Match, game.match()) for _ in range(configure.matches - 1))
    return MatchesInTurn([cast(Match, first), *others], configure)


class _Departure:
    """Does nothing when the host stops: for hosts that run inside another process, such as a test."""

    status = 0

    def begin(self) -> None:
        pass


class _ProcessDeparture(_Departure):
    """Ends the process LEAVE_S after the host stops, even if matches still close or threads of the game still run."""

    def begin(self) -> None:
        timer = threading.Timer(LEAVE_S, self._end)
        timer.daemon = True
        timer.start()

    def _end(self) -> None:
        sys.stderr.write(f"the game did not end within {LEAVE_S:g} s after its host stopped; ending the process\n")
        sys.stderr.flush()
        os._exit(self.status)
