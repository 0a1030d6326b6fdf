/*
 * cairo_lib.h: the entry points of cairo and fontconfig that charts need, loaded when the first one is drawn. Linked,
 * they and the twenty libraries behind them would be mapped by every hub and every `muster ls`; loaded by name, a
 * machine without them runs everything but charts, which say what to install.
 */
#pragma once

#include <cairo/cairo-pdf.h>
#include <cairo/cairo.h>
#include <fontconfig/fontconfig.h>

#include "base/err.h"

#define CAIRO_CALLS(X)                                                                                                 \
    X(create, "cairo_create", cairo_t *, (cairo_surface_t *))                                                          \
    X(destroy, "cairo_destroy", void, (cairo_t *))                                                                     \
    X(status, "cairo_status", cairo_status_t, (cairo_t *))                                                             \
    X(status_text, "cairo_status_to_string", const char *, (cairo_status_t))                                           \
    X(save, "cairo_save", void, (cairo_t *))                                                                           \
    X(restore, "cairo_restore", void, (cairo_t *))                                                                     \
    X(scale, "cairo_scale", void, (cairo_t *, double, double))                                                         \
    X(translate, "cairo_translate", void, (cairo_t *, double, double))                                                 \
    X(rotate, "cairo_rotate", void, (cairo_t *, double))                                                               \
    X(rgba, "cairo_set_source_rgba", void, (cairo_t *, double, double, double, double))                                \
    X(line_width, "cairo_set_line_width", void, (cairo_t *, double))                                                   \
    X(line_join, "cairo_set_line_join", void, (cairo_t *, cairo_line_join_t))                                          \
    X(dash, "cairo_set_dash", void, (cairo_t *, const double *, int, double))                                          \
    X(move_to, "cairo_move_to", void, (cairo_t *, double, double))                                                     \
    X(line_to, "cairo_line_to", void, (cairo_t *, double, double))                                                     \
    X(arc, "cairo_arc", void, (cairo_t *, double, double, double, double, double))                                     \
    X(close_path, "cairo_close_path", void, (cairo_t *))                                                               \
    X(rectangle, "cairo_rectangle", void, (cairo_t *, double, double, double, double))                                 \
    X(stroke, "cairo_stroke", void, (cairo_t *))                                                                       \
    X(fill, "cairo_fill", void, (cairo_t *))                                                                           \
    X(show_page, "cairo_show_page", void, (cairo_t *))                                                                 \
    X(set_font_face, "cairo_set_font_face", void, (cairo_t *, cairo_font_face_t *))                                    \
    X(set_font_size, "cairo_set_font_size", void, (cairo_t *, double))                                                 \
    X(set_font_options, "cairo_set_font_options", void, (cairo_t *, const cairo_font_options_t *))                     \
    X(show_text, "cairo_show_text", void, (cairo_t *, const char *))                                                   \
    X(text_extents, "cairo_text_extents", void, (cairo_t *, const char *, cairo_text_extents_t *))                     \
    X(image, "cairo_image_surface_create", cairo_surface_t *, (cairo_format_t, int, int))                              \
    X(image_data, "cairo_image_surface_get_data", unsigned char *, (cairo_surface_t *))                                \
    X(image_stride, "cairo_image_surface_get_stride", int, (cairo_surface_t *))                                        \
    X(surface_flush, "cairo_surface_flush", void, (cairo_surface_t *))                                                 \
    X(png, "cairo_surface_write_to_png_stream", cairo_status_t, (cairo_surface_t *, cairo_write_func_t, void *))       \
    X(pdf, "cairo_pdf_surface_create_for_stream", cairo_surface_t *, (cairo_write_func_t, void *, double, double))     \
    X(pdf_metadata, "cairo_pdf_surface_set_metadata", void, (cairo_surface_t *, cairo_pdf_metadata_t, const char *))   \
    X(surface_finish, "cairo_surface_finish", void, (cairo_surface_t *))                                               \
    X(surface_destroy, "cairo_surface_destroy", void, (cairo_surface_t *))                                             \
    X(surface_status, "cairo_surface_status", cairo_status_t, (cairo_surface_t *))                                     \
    X(font_options, "cairo_font_options_create", cairo_font_options_t *, (void))                                       \
    X(font_options_destroy, "cairo_font_options_destroy", void, (cairo_font_options_t *))                              \
    X(hint_style, "cairo_font_options_set_hint_style", void, (cairo_font_options_t *, cairo_hint_style_t))             \
    X(hint_metrics, "cairo_font_options_set_hint_metrics", void, (cairo_font_options_t *, cairo_hint_metrics_t))       \
    X(face_of_pattern, "cairo_ft_font_face_create_for_pattern", cairo_font_face_t *, (FcPattern *))

#define FC_CALLS(X)                                                                                                    \
    X(fc_load, "FcInitLoadConfigAndFonts", FcConfig *, (void))                                                         \
    X(fc_parse, "FcNameParse", FcPattern *, (const FcChar8 *))                                                         \
    X(fc_substitute, "FcConfigSubstitute", FcBool, (FcConfig *, FcPattern *, FcMatchKind))                             \
    X(fc_default, "FcDefaultSubstitute", void, (FcPattern *))                                                          \
    X(fc_sort, "FcFontSort", FcFontSet *, (FcConfig *, FcPattern *, FcBool, FcCharSet **, FcResult *))                 \
    X(fc_prepare, "FcFontRenderPrepare", FcPattern *, (FcConfig *, FcPattern *, FcPattern *))                          \
    X(fc_charset, "FcPatternGetCharSet", FcResult, (const FcPattern *, const char *, int, FcCharSet **))               \
    X(fc_string, "FcPatternGetString", FcResult, (const FcPattern *, const char *, int, FcChar8 **))                   \
    X(fc_has, "FcCharSetHasChar", FcBool, (const FcCharSet *, FcChar32))                                               \
    X(fc_pattern_free, "FcPatternDestroy", void, (FcPattern *))

struct cairo_lib {
    void *cairo, *fontconfig;
#define X(field, symbol, type, args) type(*field) args;
    CAIRO_CALLS(X) FC_CALLS(X)
#undef X
};

/* Loaded once, by whichever thread is first, and kept for good. -ENOENT with what to install; asked again, it tries
 * again. */
int cairo_lib_load(const struct cairo_lib **ret, struct err *err);
