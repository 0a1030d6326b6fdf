/*
 * pen.h: what charts and pages are drawn with: rectangles, lines, paths, text, in points from the top left. Onto cairo
 * (PNG, PDF) or as SVG. cairo writes SVG, too, but text as outlines that nobody can search, select or restyle.
 */
#pragma once

#include "draw/font.h"

struct buf;

enum pen_anchor { PEN_START, PEN_MIDDLE, PEN_END };

struct pen {
    const struct cairo_lib *c;
    cairo_t *cr;     /* NULL: SVG */
    struct buf *svg; /* NULL: cairo */
    char hint[256];  /* SVG: of the next rectangle */
};

struct ink {
    uint32_t rgb; /* 0xrrggbb */
    double alpha; /* 0: 1 */
};

void pen_rect(struct pen *p, double x, double y, double w, double h, struct ink ink);
void pen_line(struct pen *p, double x1, double y1, double x2, double y2, double width, struct ink ink);
void pen_dot(struct pen *p, double x, double y, double radius, struct ink ink);
/* A path: begin, to (move: lifted), end. fill: closed and filled, else stroked; dashed: stroked in dashes. */
void pen_begin(struct pen *p);
void pen_to(struct pen *p, double x, double y, bool move);
void pen_stroke(struct pen *p, double width, bool dashed, struct ink ink);
void pen_fill(struct pen *p, struct ink ink);
/* x, y: the base line's end, by anchor. turn: degrees, clockwise. */
void pen_text(struct pen *p, double x, double y, struct str s, double size, bool bold, enum pen_anchor anchor,
              double turn, struct ink ink);

/* From here on, y counts from so much further down; until pen_up. */
void pen_down(struct pen *p, double y);
void pen_up(struct pen *p);

/* What only SVG has: a group with a class, for whoever reads it by program, and a hint on hovering. */
void pen_group(struct pen *p, const char *class);
void pen_hint(struct pen *p, struct str text); /* of the rectangle that comes next */
void pen_group_end(struct pen *p);
