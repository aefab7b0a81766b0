"""Numbers of a soccar match. Lengths are in unreal units (1 cm), times in seconds, blue attacks towards positive y."""

from __future__ import annotations

TICKS_PER_S = 120
SIDE_WALL_X = 4096.0
BACK_WALL_Y = 5120.0
CEILING_Z = 2044.0
CORNER = 8064.0  # |x| + |y| at the walls that cut the corners off
RAMP = 256.0  # height and depth of the curves between floor, walls and ceiling
GOAL_Z = 321.4  # half the height of a goal
BALL_REST_Z = 93.15
CAR_REST_Z = 17.0
BALL_MAX_SPEED = 6000.0
CAR_MAX_SPEED = 2300.0
DOUBLE_JUMP_S = 1.25  # after a jump, in which the second is possible
FLIP_S = 0.65  # for which a flip turns the car
PADS = 34
KICKOFF_BOOST = 33.3
KICKOFFS = (  # x, y, yaw in units of pi, of blue; orange stands across
    (-2048.0, -2560.0, 0.25),
    (2048.0, -2560.0, 0.75),
    (-256.0, -3840.0, 0.5),
    (256.0, -3840.0, 0.5),
    (0.0, -4608.0, 0.5),
)
