"""`RemotePolicy`: a policy that a server computes. It is a `types.Policy` like any other."""

from __future__ import annotations

import numpy as np

from ludus.policies.launching import LaunchingPolicy, Wait
from ludus.serving.address import Address, parse
from ludus.serving.client import Client, PlayedGame
from ludus.serving.history import MatchHistory
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices


class RemotePolicy(LaunchingPolicy):
    """Plays with the policy behind tcp://HOST:PORT/NAME. Raises ServingError if the server cannot be reached, refuses,
    or has a policy for another game than `spec`."""

    launches = True  # other policies compute while the server does

    def __init__(
        self,
        address: str | Address,
        spec: GameSpec,
        *,
        token: str | None = None,
        timeout_s: float = 30.0,
        history: MatchHistory | None = None,
    ) -> None:
        """token: default: that in the file which the environment variable LUDUS_TOKEN_FILE names. history: for
        recurrent policies, what to remember of running matches."""
        address = parse(address) if isinstance(address, str) else address
        game = PlayedGame(spec.name, spec.schema, spec.fingerprint)
        self.client = Client(address, game=game, token=token, timeout_s=timeout_s, history=history)

    def act(self, arrivals: Arrivals) -> Choices:
        return self.launch(arrivals)()

    def launch(self, arrivals: Arrivals) -> Wait:
        most = self.client.most_rows
        parts = [slice(begin, begin + most) for begin in range(0, len(arrivals), most)]
        batches = [
            self.client.ask(arrivals.row[part], arrivals.obs[part], arrivals.legal[part], arrivals.opens[part])
            for part in parts
        ]

        def collect() -> Choices:
            answers = [self.client.take(batch) for batch in batches]
            if len(answers) == 1:
                answer = answers[0]
                return Choices(answer.action, answer.logp, answer.value, answer.version)
            return Choices(
                np.concatenate([answer.action for answer in answers]),
                np.concatenate([answer.logp for answer in answers]),
                np.concatenate([answer.value for answer in answers]),
                max(answer.version for answer in answers),
            )

        return collect

    def close(self) -> None:
        """Leave the server."""
        self.client.close()
