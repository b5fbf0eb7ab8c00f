"""The operations room: the admin's front page, the timeline of a turn, and who may do what there."""
