/* board_style.h: the static page's style and script, and what its policy allows: their SHA-256 (a test holds them
 * together). Colours as in web/style.css. */
#pragma once

#define BOARD_STYLE                                                                                                    \
    "\n:root{color-scheme:light dark;--bg:#fff;--raised:#f6f8fa;--ink:#1f2328;--dim:#59636e;--line:#d1d9e0;"           \
    "--free:#d7f0e0;--taken:#ffdcd8;--unknown:#e9ecef;--warn:#fff1c2;--accent:#0550ae}\n"                              \
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--raised:#161b22;--ink:#e6edf3;--dim:#a7aeb6;"               \
    "--line:#2f353d;--free:#12372a;--taken:#4a1a1c;--unknown:#262c34;--warn:#3a2f0b;--accent:#79b8ff}}\n"              \
    "*{box-sizing:border-box}\n"                                                                                       \
    "body{margin:0;padding:16px;background:var(--bg);color:var(--ink);font:14px/20px system-ui,sans-serif;"            \
    "font-variant-numeric:tabular-nums}\n"                                                                             \
    "header,main,footer{max-width:1600px;margin:0 auto 16px}\n"                                                        \
    "h1,h2,p{margin:0 0 4px;overflow-wrap:anywhere}h1{font-size:20px;line-height:28px}h2{font-size:16px}\n"            \
    "h1,h2{font-weight:600}b{font-weight:600}\n"                                                                       \
    "main{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,380px),1fr));gap:16px;"                  \
    "align-items:start}\n"                                                                                             \
    "section{border:1px solid var(--line);border-radius:6px;padding:12px;min-width:0}\n"                               \
    "table{border-collapse:collapse;width:100%;margin-top:8px}\n"                                                      \
    "td,th{padding:4px 6px;text-align:left;font-weight:400;vertical-align:bottom}\n"                                   \
    "thead th{color:var(--dim);font-size:13px;line-height:16px}\n"                                                     \
    ".num{text-align:right}.dim{color:var(--dim)}td{white-space:nowrap}\n"                                             \
    "tbody tr{position:relative;border-top:1px solid var(--line)}\n"                                                   \
    ".free{background:var(--free)}.taken{background:var(--taken)}.unknown{background:var(--unknown)}\n"                \
    "tbody .dim{color:inherit;opacity:.85}\n"                                                                          \
    "tr:focus{outline:2px solid var(--accent);outline-offset:-2px}\n"                                                  \
    ".tip{display:none;position:absolute;z-index:1;left:8px;right:8px;top:100%;padding:8px;text-align:left;"           \
    "white-space:normal;overflow-wrap:anywhere;background:var(--raised);color:var(--ink);"                             \
    "border:1px solid var(--dim);border-radius:4px;box-shadow:0 4px 12px #0004}\n"                                     \
    "tr:hover .tip,tr:focus .tip{display:block}tr:hover .tip{z-index:2}\n"                                             \
    ".why,.warn{background:var(--warn);padding:4px 8px;border-radius:4px}\n"                                           \
    "footer{border-top:1px solid var(--line);padding-top:8px}\n"                                                       \
    "@media(max-width:420px){body{padding:8px}section{padding:8px}td,th{padding:4px}}\n"                               \
    "@media print{body{padding:0}section{break-inside:avoid}}\n"

#define BOARD_SCRIPT                                                                                                   \
    "\n(function () {\n"                                                                                               \
    "    var at = Date.parse(document.querySelector('time').dateTime), old = document.getElementById('old');\n"        \
    "    function age() {\n"                                                                                           \
    "        var s = Math.max(0, Math.floor((Date.now() - at) / 1000));\n"                                             \
    "        var text = s < 90 ? s + ' s' : s < 5400 ? Math.round(s / 60) + ' min' : s < 172800 ? "                    \
    "Math.round(s / 3600) + ' h' : Math.round(s / 86400) + ' days';\n"                                                 \
    "        document.getElementById('age').textContent = ', ' + text + ' ago';\n"                                     \
    "        old.hidden = s < Number(old.dataset.after);\n"                                                            \
    "        old.textContent = 'Old news: nothing here has changed for ' + text + '.';\n"                              \
    "    }\n"                                                                                                          \
    "    age();\n"                                                                                                     \
    "    setInterval(age, 5000);\n"                                                                                    \
    "})();\n"

#define BOARD_STYLE_HASH  "sha256-4elSxSwquubocrfYUjBN+KK6zik43SB9kN4TklZ7fSA="
#define BOARD_SCRIPT_HASH "sha256-R0Ex//bJQMzBrMMF7Ej5fmlRNgUMyMyRwVaAKibNh0c="
