"""Instructions that the compiled ops take, counted under callgrind and compared with a record (`make opcount`)."""
