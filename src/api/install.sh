#!/bin/sh
# Adds this machine to the muster hub at @URL@, or removes it.
#
#   curl -fsS @CURL@@URL@/install | sh -s -- TOKEN          add
#   curl -fsS @CURL@@URL@/install | sh -s -- --uninstall    remove
#
# TOKEN: made on the hub with `muster token new --role enroll` (many nodes) or `--role agent` (one node).
# As root it becomes a system service, otherwise a service of this user. Needs curl and a shell.
set -eu

hub='@URL@'
pin='@PIN@'
arch='@ARCH@'
sum='@SUM@'

say() { echo "muster: $*"; }
die() { echo "muster: $*" >&2; exit 1; }

if [ "$(id -u)" = 0 ]; then
    scope='' bin=/usr/local/bin etc=/etc/muster state=/var/lib/muster-agent units=/etc/systemd/system target=multi-user.target
else
    scope=--user bin=$HOME/.local/bin etc=${XDG_CONFIG_HOME:-$HOME/.config}/muster
    state=${XDG_STATE_HOME:-$HOME/.local/state}/muster-agent
    units=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user target=default.target
fi

# A systemd that runs and answers; a container or a chroot has none.
systemd() {
    command -v systemctl >/dev/null 2>&1 || return 1
    if [ -n "$scope" ]; then systemctl --user show-environment >/dev/null 2>&1; else [ -d /run/systemd/system ]; fi
}

stop_agent() {
    if systemd; then systemctl $scope disable --now muster-agent.service >/dev/null 2>&1 || true; fi
    if [ -r "$state/agent.pid" ]; then
        kill "$(cat "$state/agent.pid")" 2>/dev/null || true
        rm -f "$state/agent.pid"
    fi
}

uninstall() {
    stop_agent
    rm -f "$units/muster-agent.service" "$bin/muster-agent" "$etc/agent.env" "$etc/agent.token"
    if systemd; then systemctl $scope daemon-reload; fi
    rm -rf "$state"
    rmdir "$etc" 2>/dev/null || true
    say "removed; on the hub, \`muster node retire\` takes this node off the screens"
}

fetch() { # path, file
    if [ -n "$pin" ]; then
        curl -fsSk --pinnedpubkey "$pin" -o "$2" "$hub$1"
    else
        curl -fsS -o "$2" "$hub$1"
    fi
}

install_agent() {
    command -v curl >/dev/null 2>&1 || die "curl is missing"
    mine=$(uname -m)
    [ -n "$arch" ] || die "the hub has no agent binary to hand out: copy muster-agent to $bin by hand"
    [ "$mine" = "$arch" ] || die "this machine is $mine, the hub's agent is for $arch: build one with \`make agent\` and copy it to $bin"
    umask 077
    mkdir -p "$bin" "$etc" "$state" "$units"
    fetch "/install/muster-agent-$arch" "$bin/.muster-agent.new" || die "cannot fetch the agent from $hub"
    if command -v sha256sum >/dev/null 2>&1; then
        echo "$sum  $bin/.muster-agent.new" | sha256sum -c - >/dev/null 2>&1 || die "the agent arrived damaged; try again"
    fi
    chmod 755 "$bin/.muster-agent.new"
    problem=$("$bin/.muster-agent.new" --version 2>&1) || die "the agent does not run here: $problem"
    stop_agent
    mv -f "$bin/.muster-agent.new" "$bin/muster-agent"

    printf '%s\n' "$1" >"$etc/agent.token"
    {
        echo "# muster-agent: MUSTER_NAME=value lines; \`muster-agent --help\` lists them"
        echo "MUSTER_HUB=$hub"
        echo "MUSTER_TOKEN_FILE=$etc/agent.token"
        echo "MUSTER_STATE_DIR=$state"
        if [ -n "$pin" ]; then echo "MUSTER_PIN=$pin"; fi
    } >"$etc/agent.env"

    cat >"$units/muster-agent.service" <<UNIT
[Unit]
Description=muster agent: this node's GPUs for $hub
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=$bin/muster-agent --env-file $etc/agent.env
Restart=always
RestartSec=5
MemoryMax=256M

[Install]
WantedBy=$target
UNIT
    chmod 644 "$units/muster-agent.service"

    if systemd; then
        systemctl $scope daemon-reload
        systemctl $scope enable muster-agent.service >/dev/null 2>&1
        systemctl $scope restart muster-agent.service
        say "running as a service; see: systemctl $scope status muster-agent"
        if [ -n "$scope" ]; then say "to keep it running when you log out: loginctl enable-linger"; fi
    else
        nohup "$bin/muster-agent" --env-file "$etc/agent.env" >"$state/agent.log" 2>&1 </dev/null &
        echo $! >"$state/agent.pid"
        sleep 1
        kill -0 "$(cat "$state/agent.pid")" 2>/dev/null || die "the agent ended at once: $(tail -n 1 "$state/agent.log")"
        say "no systemd here: started in the background, log in $state/agent.log; start it at boot yourself:"
        say "  $bin/muster-agent --env-file $etc/agent.env"
    fi
    say "this node appears on $hub within seconds"
}

case "${1:-}" in
--uninstall) uninstall ;;
mst_*) install_agent "$1" ;;
'') [ -n "${MUSTER_TOKEN:-}" ] || die "usage: sh -s -- TOKEN | --uninstall"
    install_agent "$MUSTER_TOKEN" ;;
*) die "'$1' is not a token of muster: they look like mst_xxxxxxxx_..." ;;
esac
