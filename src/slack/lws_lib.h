/*
 * lws_lib.h: libwebsockets' entry points, loaded by the one process that needs them (`muster slack-socket`). Linked,
 * the library would be mapped by every hub and every `muster ls`; loaded by name, a machine without it runs everything
 * but Socket Mode, which says what to install. Its structs change between versions: only the one that was there when
 * this was built is taken.
 */
#pragma once

#include <libwebsockets.h>

#include "base/err.h"

#define LWS_CALLS(X)                                                                                                   \
    X(version, "lws_get_library_version", const char *, (void))                                                        \
    X(set_log_level, "lws_set_log_level", void, (int, void (*)(int, const char *)))                                    \
    X(create_context, "lws_create_context", struct lws_context *, (const struct lws_context_creation_info *))          \
    X(context_destroy, "lws_context_destroy", void, (struct lws_context *))                                            \
    X(vhost, "lws_get_vhost_by_name", struct lws_vhost *, (struct lws_context *, const char *))                        \
    X(service, "lws_service", int, (struct lws_context *, int))                                                        \
    X(sul_schedule, "lws_sul_schedule", void,                                                                          \
      (struct lws_context *, int, lws_sorted_usec_list_t *, sul_cb_t, lws_usec_t))                                     \
    X(connect, "lws_client_connect_via_info", struct lws *, (const struct lws_client_connect_info *))                  \
    X(adopt, "lws_adopt_descriptor_vhost", struct lws *,                                                               \
      (struct lws_vhost *, lws_adoption_type, lws_sock_file_fd_type, const char *, struct lws *))                      \
    X(on_writable, "lws_callback_on_writable", int, (struct lws *))                                                    \
    X(write, "lws_write", int, (struct lws *, unsigned char *, size_t, enum lws_write_protocol))                       \
    X(is_final, "lws_is_final_fragment", int, (struct lws *))                                                          \
    X(remaining, "lws_remaining_packet_payload", size_t, (struct lws *))

struct lws_lib {
    void *lib;
#define X(field, symbol, type, args) type(*field) args;
    LWS_CALLS(X)
#undef X
};

/* It stays loaded for good. -ENOENT with what to install. */
int lws_lib_load(struct lws_lib *ret, struct err *err);
