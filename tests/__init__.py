"""All tests. Processes that a test starts by a function of it come by here first."""

import os

if os.environ.get("HUDI_INDEX_TEST_ROOT"):
    from tests.support.object_store import use_store_of_tests

    use_store_of_tests()
