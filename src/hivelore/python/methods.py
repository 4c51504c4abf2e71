"""Declared operations as methods of a hive."""

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from hivelore.core.operation import Operation

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Calls(Protocol):
    """Something that carries requests to their handlers."""

    def call(self, operation: Operation[..., R], request: Any) -> R:
        """Runs an operation. Raises Invalid for a request with a field of a wrong type, and what the operation
        raises."""
        ...


class Method(Generic[P, R, T]):
    """The method of an operation: takes the fields of its request as arguments."""

    def __init__(self, operation: Operation[P, R], read: Callable[[R], T]) -> None:
        self._operation = operation
        self._read = read
        self.__doc__ = operation.summary

    @overload
    def __get__(self, hive: None, owner: type[Any]) -> "Method[P, R, T]": ...

    @overload
    def __get__(self, hive: Calls, owner: type[Any]) -> Callable[P, T]: ...

    def __get__(self, hive: Calls | None, owner: type[Any]) -> "Method[P, R, T] | Callable[P, T]":
        if hive is None:
            return self
        operation, read = self._operation, self._read

        def method(*args: P.args, **kwargs: P.kwargs) -> T:
            return read(hive.call(operation, operation.request(*args, **kwargs)))

        method.__name__ = method.__qualname__ = operation.name
        method.__doc__ = operation.summary
        return method


def method(operation: Operation[P, R]) -> Method[P, R, R]:
    """Returns the method that answers with the response of an operation."""
    return Method(operation, lambda response: response)
