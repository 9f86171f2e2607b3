"""How near each op comes to what binds it: the machine's limits, the ops beside them, and how times grow."""
