"""What is said to a client whose request cannot be answered."""

from __future__ import annotations

from typing import Any


class RefusedError(Exception):
    """A request that is answered by an error; ``body`` is OpenAI's form of it."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.param = param
        self.code = code

    @property
    def body(self) -> dict[str, Any]:
        """Return the answer."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {
            "error": {
                "message": str(self), "type": kind, "param": self.param, "code": self.code,
            }
        }  # fmt: skip
