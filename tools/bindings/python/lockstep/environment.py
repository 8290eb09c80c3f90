"""A simulation as a task for a learning program, by Gymnasium's conventions."""

from __future__ import annotations

import array
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

from . import Sim, Simulation

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]


class Environment:
    """`reset` and `step` as Gymnasium has them; the package gymnasium is not needed.

    An observation has the values of the chosen fields behind each other, as a NumPy array of
    floats, or as an array.array where there is no NumPy. An action is the bytes of slot 0, or a
    list with the bytes of each slot. `reward` and `is_done` are asked about the simulation after
    each step, and `ticks_max` cuts an episode off."""

    def __init__(
        self,
        sim: Sim,
        fields: Sequence[str],
        *,
        reward: Callable[[Simulation], float] = lambda simulation: 0.0,
        is_done: Callable[[Simulation], bool] = lambda simulation: False,
        ticks_a_step: int = 1,
        ticks_max: Optional[int] = None,
        **options: Any,
    ) -> None:
        self._sim, self._options = sim, options
        self._reward, self._is_done = reward, is_done
        self._ticks_a_step, self._ticks_max = ticks_a_step, ticks_max
        self._paths = fields
        self._open()

    def _open(self) -> None:
        self.simulation = Simulation(self._sim, **self._options)
        self._fields = [self.simulation.field(path) for path in self._paths]
        self._tick = 0

    def _observation(self) -> Any:
        state = self.simulation.state
        values = array.array("d")
        for field in self._fields:
            values.extend(field.read(state))
        return values if numpy is None else numpy.frombuffer(values, "f8")

    def _info(self) -> Dict[str, int]:
        return {"tick": self._tick}

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None
    ) -> Tuple[Any, Dict[str, int]]:
        """State 0 again; with a seed, or settings as options, of another simulation."""
        if seed is None and not options:
            self.simulation.rewind()
            self._tick = 0
        else:
            self._options = {**self._options, **(options or {})}
            if seed is not None:
                self._options["seed"] = seed
            self.simulation.close()
            self._open()
        return self._observation(), self._info()

    def step(
        self, action: Union[bytes, Sequence[bytes]]
    ) -> Tuple[Any, float, bool, bool, Dict[str, int]]:
        """Observation, reward, whether the task is done, whether time is up, and the tick."""
        inputs = [action] if isinstance(action, (bytes, bytearray)) else action
        for _ in range(self._ticks_a_step):
            self.simulation.step(inputs)
        self._tick += self._ticks_a_step
        is_late = self._ticks_max is not None and self._tick >= self._ticks_max
        reward, is_done = self._reward(self.simulation), self._is_done(self.simulation)
        return self._observation(), float(reward), bool(is_done), is_late, self._info()

    def close(self) -> None:
        self.simulation.close()

    def __enter__(self) -> "Environment":
        return self

    def __exit__(self, *reason: Any) -> None:
        self.close()
