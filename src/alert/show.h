/* show.h: alerts, silences and channels as the API shows them. */
#pragma once

#include "alert/rule.h"
#include "base/json.h"
#include "model/alert.h"
#include "notify/channel.h"

/* Current alerts, silences and channels. Borrowed. */
struct alerts_now {
    const struct alert *const *v; /* pending and firing, the most severe first */
    size_t n;
    const struct alert *const *past; /* recently resolved, newest first */
    size_t n_past;
    const struct silence *const *silences;
    size_t n_silences;
    const struct channel_now *channels;
    size_t n_channels;
};

const struct silence *silence_of(const struct alerts_now *now, const struct alert *a, int64_t now_ms); /* or NULL */
void alert_json(struct json *j, const struct alert *a, const struct silence *s);
void silence_json(struct json *j, const struct silence *s);
void channel_json(struct json *j, const struct channel_now *c);
size_t alerts_loud(const struct alerts_now *now, int64_t now_ms); /* number of firing alerts without a silence */
