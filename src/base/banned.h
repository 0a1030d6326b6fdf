/*
 * banned.h: turns C library calls that are easy to get wrong into compile errors. Included by mem.h, so that every file
 * has it.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BANNED(f) use_of_##f##_is_banned_see_base_banned_h
#undef strcpy
#define strcpy(a, b) BANNED(strcpy)
#undef strcat
#define strcat(a, b) BANNED(strcat)
#undef strncpy
#define strncpy(a, b, n) BANNED(strncpy)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef strtok
#define strtok(a, b) BANNED(strtok)
#undef atoi
#define atoi(a) BANNED(atoi)
#undef atol
#define atol(a) BANNED(atol)
