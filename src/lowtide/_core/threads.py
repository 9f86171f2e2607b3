"""Makes the threads of the ops known to threadpoolctl, so that `threadpool_limits` holds for them too.

Examples
--------
>>> from threadpoolctl import threadpool_limits
>>> from lowtide import _core
>>> with threadpool_limits(limits=1, user_api="lowtide"):
...     _core.thread_count()
1
"""

import threadpoolctl  # type: ignore[import-untyped, unused-ignore]


class _LowtideController(threadpoolctl.LibController):  # type: ignore[misc, unused-ignore]
    user_api = "lowtide"
    internal_api = "lowtide"
    filename_prefixes = ("_lowtide_core",)
    check_symbols = ("lowtide_get_num_threads", "lowtide_set_num_threads")

    def get_num_threads(self) -> int:
        return int(self.dynlib.lowtide_get_num_threads())

    def set_num_threads(self, num_threads: int) -> None:
        self.dynlib.lowtide_set_num_threads(num_threads)

    def get_version(self) -> None:
        return None


threadpoolctl.register(_LowtideController)
