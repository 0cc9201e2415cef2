/*
 * exec_space.h - where a format is made: on the GPU, or on the host for comparison. Code that builds in either
 * space includes exec_space.cuh.
 */
#ifndef DEVICE_EXEC_SPACE_H
#define DEVICE_EXEC_SPACE_H

enum exec_space { ON_DEVICE, ON_HOST };

#endif
