"""Connects to a Ray cluster and runs actors on its nodes. The only file that knows Ray, which is imported when needed.

Weights are one object for each version, and every batch part is one object. Control messages are msgpack bytes. Ray
itself pickles the calls that carry them, so everyone who can connect to a cluster controls its machines: it must
require a token.
"""

from __future__ import annotations

import logging
import os
import re
import select
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus.actors import cluster, cluster_token, node_messages, software
from ludus.actors.cluster import Node, Versions
from ludus.actors.learner_process import LearnerProcess
from ludus.actors.links import Bytes, LostError
from ludus.actors.node_messages import BeginOnNode, LearnerMessage, NodeMessage, NodeReady
from ludus.actors.nodes import ClusterNodes, Nodes
from ludus.errors import ClusterLost, SetupError
from ludus.games.extras import install_command
from ludus.processes.deadlines import bounded

if TYPE_CHECKING:
    from ludus.actors.on_node import NodeActor

LEAVE_S = 10.0  # longest wait for Ray to disconnect
POLL_S = 1.0  # an actor without messages answers this often
RECONNECT_S = 3600  # Ray ends a process whose head has not answered for this long; its default is 60
DEATH = re.compile(r"(The actor (is dead|died) because|Worker exit type:).{0,150}")  # the reason in Ray's text
LOOK_S = 10.0  # longest wait for the nodes
ALIVE = 0  # the state of a node in Ray's protocol
CALLS = 4  # at once, of one actor
log = logging.getLogger(__name__)


@contextmanager
def connected(address: str) -> Iterator[RayCluster]:
    """Connect to the cluster at this address (`auto`, or HOST:PORT of its head), and disconnect at the end.

    Raises ConfigError for an address of another form, and SetupError if Ray is not installed, the cluster does not
    answer, does not require a token or refuses this machine's, or none of its nodes may play.
    """
    cluster.refuse_address(address)
    try:
        import ray
    except ImportError:
        raise SetupError(f"--cluster needs Ray, which is not installed: {install_command('ray')}") from None
    cluster_token.refuse_without()
    os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", str(RECONNECT_S))
    _keep_quiet(ray)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        head = _init(ray, address)
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                signal.signal(number, handler)  # Ray replaces that of SIGTERM
        cluster_token.refuse_open(head)
        playing = RayCluster(ray, address, head)
        try:
            playing.nodes.compare_all()
            yield playing
        finally:
            playing.nodes.close()
    finally:
        bounded(ray.shutdown, LEAVE_S)  # the head may not answer


class RayCluster(ClusterNodes):
    """Implements `links.Cluster` with Ray."""

    learner_gpu = cluster.LEARNER_GPU

    def __init__(self, ray: Any, address: str, head: str) -> None:  # Any: Ray's module
        self.gpus_each = 0.0  # share of a GPU for each actor
        self.past_file: Callable[[int], Path] = lambda version: Path(f"v{version}")  # where past selves are
        self._ray, self._address, self.head = ray, address, head
        self._describe = software.describer()
        super().__init__(Nodes(address, self._describe(), self._look, self._ask_software))
        self.weights: tuple[Any, int] | None = None  # the newest, and their version. Any: Ray's reference to an object
        self._past: dict[int, Any] = {}  # Any: the same; files of past selves

    def place(self, actor: int, cpus: int, begin: BeginOnNode, matches: Bytes | None, past: Sequence[int]) -> RayLink:
        placed = self._remote(OnNode, cpus, self.gpus_each)
        with self._reaching():
            handle = placed.remote(node_messages.encode(begin), actor, matches, list(past), *self.files(past))
        return RayLink(self._ray, self, handle)

    def place_learner(self) -> RayLearner:
        """Place a learner on a node with a GPU, now or as soon as one has room."""
        with self._reaching():
            return RayLearner(self._ray, self._remote(LearnerOnNode, 0, self.learner_gpu).remote())

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        if self.weights is not None and self.weights[1] == version:
            return
        try:
            with self._reaching():
                self.weights = (self._ray.put(weights), version)
        except (self._ray.exceptions.ObjectStoreFullError, self._ray.exceptions.OutOfDiskError):
            log.warning("the object store of this machine is full; actors keep older weights than version %d", version)

    @property
    def joined(self) -> list[Node]:
        return [node for node in self.nodes.joined if node.gpus >= self.gpus_each]

    def files(self, versions: Sequence[int]) -> list[Any]:  # Any: Ray's references to objects
        """Return one object for the file of each of these past selves."""
        for version in versions:
            if version not in self._past:
                with self._reaching():
                    self._past[version] = self._ray.put(np.fromfile(self.past_file(version), np.uint8))
        return [self._past[version] for version in versions]

    def retain(self, versions: Sequence[int]) -> None:
        """Drop the objects of all past selves but these."""
        self._past = {version: file for version, file in self._past.items() if version in versions}

    def _remote(self, kind: type, cpus: int, gpus: float) -> Any:  # Any: Ray's remote class
        """Return a class whose objects Ray places on a node that may play."""
        refused = self.nodes.refused
        selector = {"label_selector": {"ray.io/node-id": f"!in({','.join(refused)})"}} if refused else {}
        return self._ray.remote(kind).options(
            num_cpus=cpus, num_gpus=gpus, max_restarts=0, max_concurrency=CALLS, **selector
        )

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Raise ClusterLost inside the block instead of Ray's errors, except those about a full object store."""
        kinds = self._ray.exceptions
        try:
            yield
        except (kinds.ObjectStoreFullError, kinds.OutOfDiskError):
            raise
        except (kinds.RayError, ConnectionError, BrokenPipeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise ClusterLost(f"the Ray cluster {self._address} cannot be reached: {reason}") from error

    def _look(self) -> list[Node]:
        """Ask the head for the nodes. Raises an exception of Ray if it does not answer."""
        return _nodes(self._ray)

    def _ask_software(self, node: Node) -> Future[dict[str, str]]:
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)
        ask = self._ray.remote(self._describe).options(num_cpus=0, max_retries=0, scheduling_strategy=strategy)
        answer: Future[dict[str, str]] = ask.remote().future()
        return answer


class RayLink:
    """Implements `links.Link`. One call for messages is always under way; its answers are collected as they come."""

    def __init__(self, ray: Any, nodes: RayCluster, handle: Any) -> None:  # Any: Ray's module, a handle of an actor
        self._ray, self._nodes, self._handle = ray, nodes, handle
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lock = threading.Lock()  # around the descriptor
        self._open = True
        self._answers: deque[Future[Any]] = deque()  # Any: bytes and references to objects
        self._messages: deque[tuple[NodeMessage, Future[Any] | None]] = deque()  # Any: an array
        self._answered_s = time.monotonic()
        self._requests = 0
        self._published = -1  # version of the weights that were sent last
        self._publishing: Future[Any] | None = None  # Any: of nothing
        self._ask()

    def fileno(self) -> int:
        return self._wake

    def receive(self, timeout_s: float) -> tuple[NodeMessage, Bytes | None] | None:
        received = self._next()
        if received is None and timeout_s > 0:
            select.select([self._wake], [], [], timeout_s)
            received = self._next()
        return received

    def heard_s(self) -> float:
        return self._answered_s

    def send(self, message: LearnerMessage, past: Sequence[int] = ()) -> None:
        number, self._requests = self._requests, self._requests + 1
        self._handle.tell.remote(number, node_messages.encode(message), list(past), *self._nodes.files(past))

    def publish(self) -> None:
        """Send the newest weights, as soon as those that were sent before have arrived."""
        weights = self._nodes.weights
        if weights is None or weights[1] == self._published or self._publishing is not None:
            return
        self._published = weights[1]
        self._publishing = self._handle.publish.remote(*weights).future()
        self._publishing.add_done_callback(self._wake_up)

    def end(self, timeout_s: float) -> None:
        with suppress(Exception):  # it may have ended, or its node be lost
            if timeout_s:
                self._ray.wait([self._handle.stop.remote(timeout_s)], timeout=timeout_s)
        with suppress(Exception):
            self._ray.kill(self._handle)
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._wake)

    def _next(self) -> tuple[NodeMessage, Bytes | None] | None:
        """Return the next message if it is complete. Raises LostError if the actor has ended."""
        with suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        if self._publishing is not None and self._publishing.done():
            self._publishing = None
            self.publish()
        while not self._messages and self._answers:
            self._take_in(self._answers.popleft())
        if not self._messages:
            return None
        message, array = self._messages[0]
        if array is None or array.done():
            self._messages.popleft()
            if self._messages or self._answers:
                self._wake_up(None)
            return message, None if array is None else _result(array)
        return None

    def _take_in(self, answer: Future[Any]) -> None:  # Any: bytes and references to objects
        error = answer.exception()
        if error is not None:
            self._handle_error(error)
            return
        data, references = answer.result()
        bundle = node_messages.decode_bundle(data)
        arrays = iter(references)
        for message, has_array in zip(bundle.messages, bundle.arrays, strict=True):
            future = next(arrays).future() if has_array else None
            if future is not None:
                future.add_done_callback(self._wake_up)
            self._messages.append((message, future))
        self._answered_s = time.monotonic()
        self._ask()

    def _handle_error(self, error: BaseException) -> None:
        """Ask again if the actor cannot be reached for the moment. Raises LostError if it has ended."""
        if isinstance(error, self._ray.exceptions.ActorUnavailableError):
            timer = threading.Timer(POLL_S, self._ask)
            timer.daemon = True
            timer.start()
            return
        text = " ".join(str(error).split())
        sentence = DEATH.search(text)
        raise LostError(
            f"ended: {sentence[0] if sentence else text[:300]}",
            node_lost=isinstance(error, self._ray.exceptions.ActorDiedError) and "its node has died" in text,
        )

    def _ask(self) -> None:
        future = self._handle.events.remote(POLL_S).future()
        future.add_done_callback(self._arrived)

    def _arrived(self, answer: Future[Any]) -> None:  # called by a thread of Ray; Any: see `_answers`
        if answer.exception() is None:
            self._answered_s = time.monotonic()
        self._answers.append(answer)
        self._wake_up(answer)

    def _wake_up(self, _: object) -> None:
        with self._lock:
            if self._open:
                os.eventfd_write(self._wake, 1)


class RayLearner:
    """Implements `placed_learner.PlacedLearner`."""

    def __init__(self, ray: Any, handle: Any) -> None:  # Any: Ray's module, a handle of an actor
        self._ray, self._handle = ray, handle

    def ask(self, method: str, *values: object) -> Future[Any]:  # Any: what the method returns
        answer: Future[Any] = getattr(self._handle, method).remote(*values).future()
        return answer

    def is_final(self, error: BaseException) -> bool:
        return not isinstance(error, self._ray.exceptions.ActorUnavailableError)

    def end(self) -> None:
        with suppress(Exception):  # its node may be lost
            self._ray.kill(self._handle)


class LearnerOnNode(LearnerProcess):
    """A learner's process as an actor of Ray."""

    def where(self) -> str:
        import ray

        return _this_node(ray).name


class OnNode:
    """Runs as an actor of Ray on a node. Ray calls its methods, several at a time."""

    def __init__(self, begin: bytes, actor: int, matches: Bytes | None, versions: Sequence[int], *past: Bytes) -> None:
        import ray

        from ludus.actors.on_node import NodeActor

        ready = NodeReady(_this_node(ray), msgspec.convert(software.describer()(), Versions), os.getpid())
        process: Any = ray._private.worker._global_node  # Any: of Ray's own
        folder = Path(process.get_logs_dir_path()) / f"ludus-actor-{actor}-{os.getpid()}"
        files = list(zip(versions, past, strict=True))
        self._actor: NodeActor = NodeActor(
            node_messages.decode_beginning(begin), matches, files, folder, ready, self._share
        )

    def events(self, timeout_s: float) -> tuple[bytes, list[object]]:
        return self._actor.events(timeout_s)

    def tell(self, number: int, data: bytes, versions: Sequence[int], *past: Bytes) -> None:
        self._actor.tell(number, node_messages.decode_request(data), list(zip(versions, past, strict=True)))

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        self._actor.publish(weights, version)

    def stop(self, timeout_s: float) -> bool:
        return self._actor.stop(timeout_s)

    @staticmethod
    def _share(array: Bytes) -> object | None:
        import ray

        try:
            reference: object = ray.put(array)
        except (ray.exceptions.ObjectStoreFullError, ray.exceptions.OutOfDiskError):
            return None
        return reference


def _nodes(ray: Any) -> list[Node]:  # Any: Ray's module
    """Ask the head for the nodes that are alive. Raises an exception of Ray if it does not answer.

    `ray.nodes()` would abort this process if the head has restarted.
    """
    head = ray._raylet.GcsClient(address=ray.get_runtime_context().gcs_address)
    return [
        Node(
            id.hex(),
            node.node_manager_address,
            int(node.resources_total.get("CPU", 0)),
            float(node.resources_total.get("GPU", 0)),
        )
        for id, node in head.get_all_node_info(timeout=LOOK_S).items()
        if node.state == ALIVE
    ]


def _this_node(ray: Any) -> Node:  # Any: Ray's module
    id = ray.get_runtime_context().get_node_id()
    return next(each for each in _nodes(ray) if each.id == id)


def _result(array: Future[Any]) -> Bytes | None:  # Any: an array, of which Ray knows no type
    """Return an array, or None if the node that had it is lost."""
    if array.exception() is not None:
        return None
    result: Bytes = array.result()
    return result


def _keep_quiet(ray: Any) -> None:  # Any: Ray's module
    """Let Ray log what it would print, such as the log of a lost node, which would disturb the live table."""
    if hasattr(ray._private.worker, "print_to_stdstream"):
        ray._private.worker.print_to_stdstream = lambda data, ignore_prefix: log.debug("%s", data)


def _init(ray: Any, address: str) -> str:  # Any: Ray's module
    """Connect, and return the address of the head."""
    try:
        context = ray.init(address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
    except (ConnectionError, TimeoutError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        reason = " ".join(str(error).split())[:300]
        raise SetupError(
            f"cannot connect to the Ray cluster {address}: {reason}; is it running, and does this machine belong to it "
            f"(`ray start`), with the same token? ({cluster.WHERE})"
        ) from error
    dashboard = context.dashboard_url
    if dashboard and not cluster.is_loopback(dashboard):
        log.warning("Ray's dashboard listens on %s; keep it on the loopback address (%s)", dashboard, cluster.WHERE)
    head: str = context.address_info["gcs_address"]
    return head
