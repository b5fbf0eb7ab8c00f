"""Dates and times of the admin: sortable, to the second, in UTC like the logs."""

DATETIME_FORMAT = "Y-m-d H:i:s"
SHORT_DATETIME_FORMAT = "Y-m-d H:i:s"
