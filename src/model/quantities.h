/* quantities.h: the quantities of use that every screen shows, each with its one name and definition: a glossary. */
#pragma once

struct quantity {
    const char *word, *meaning;
};
extern const struct quantity quantities[]; /* ended by a word of NULL */
