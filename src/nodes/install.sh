#!/bin/sh
# Adds this machine to the muster hub at @URL@, or removes it.
#
#   curl -fsS @CURL@@URL@/install | sh                             add; it asks for the token
#   curl -fsS @CURL@@URL@/install | sh -s -- --token-file FILE     add; the token is the file's first line
#   curl -fsS @CURL@@URL@/install | sh -s -- TOKEN                 add; the token shows in the list of processes meanwhile
#   curl -fsS @CURL@@URL@/install | sh -s -- --uninstall           remove
#
# TOKEN: made on the hub with `muster token new --role enroll` (many nodes) or `--role agent` (one node). An enroll
# token is removed from this machine as soon as the node has its own token.
# As root it becomes a system service, otherwise a service of this user. Needs curl and a shell.
set -eu

hub='@URL@'
pin='@PIN@'
arch='@ARCH@'
sum='@SUM@'
unit_sum='@UNIT_SUM@'

say() { echo "muster: $*"; }
die() { echo "muster: $*" >&2; exit 1; }

if [ "$(id -u)" = 0 ]; then
    scope='' bin=/usr/local/bin etc=/etc/muster state=/var/lib/muster-agent units=/etc/systemd/system
else
    scope=--user bin=$HOME/.local/bin etc=${XDG_CONFIG_HOME:-$HOME/.config}/muster
    state=${XDG_STATE_HOME:-$HOME/.local/state}/muster-agent
    units=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user
fi

# A systemd that runs and answers; a container or a chroot has none.
systemd() {
    command -v systemctl >/dev/null 2>&1 || return 1
    if [ -n "$scope" ]; then systemctl --user show-environment >/dev/null 2>&1; else [ -d /run/systemd/system ]; fi
}

stop_agent() {
    if systemd; then systemctl $scope disable --now muster-agent.service >/dev/null 2>&1 || true; fi
    pid=$(cat "$state/agent.pid" 2>/dev/null) || return 0
    if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = muster-agent ]; then
        kill "$pid" 2>/dev/null || true
        for _ in 1 2 3 4 5 6 7 8 9 10; do # it sends what it has before it ends
            grep -q . "/proc/$pid/cmdline" 2>/dev/null || break
            sleep 1
        done
    fi
    rm -f "$state/agent.pid"
}

uninstall() {
    stop_agent
    rm -f "$units/muster-agent.service" "$bin/muster-agent" "$etc/agent.env" "$etc/agent.token" # that of older versions
    rm -rf "$state"
    if systemd; then systemctl $scope daemon-reload; fi
    if [ -z "$scope" ]; then
        if id muster-agent >/dev/null 2>&1; then userdel muster-agent >/dev/null 2>&1 || true; fi
        rmdir "$etc" 2>/dev/null || true
    else # folders that only we used; those that others use are not empty
        for d in "$etc" "$units" "$bin" "${state%/*}"; do rmdir -p "$d" 2>/dev/null || true; done
    fi
    say "removed; on the hub, \`muster node retire\` takes this node off the screens"
}

ask() { # path, file; the token, if any, stays out of the list of processes
    {
        if [ -n "$pin" ]; then printf 'insecure\npinnedpubkey = "%s"\n' "$pin"; fi
        if [ -n "${token:-}" ]; then printf 'header = "Authorization: Bearer %s"\n' "$token"; fi
    } | curl -fsS -K - -o "$2" "$hub$1"
}

check_sum() { # sum, file; removes a file that differs
    command -v sha256sum >/dev/null 2>&1 || return 0
    echo "$1  $2" | sha256sum -c - >/dev/null 2>&1 || { rm -f "$2"; die "'${2##*/}' is not the file that the hub announced; try again"; }
}

# Root's service gets a sandbox and a separate account; a user's service already has only that user's rights.
write_unit() {
    if [ -z "$scope" ]; then
        mv -f "$unit" "$units/muster-agent.service"
        if id muster-agent >/dev/null 2>&1 || useradd --system --user-group --no-create-home --home-dir "$state" --shell /usr/sbin/nologin muster-agent; then
            for group in video render; do # GPU nodes that are not open to all
                usermod -a -G "$group" muster-agent 2>/dev/null || true
            done
            chgrp muster-agent "$etc" "$etc/agent.env"
            chmod 750 "$etc"
            chmod 640 "$etc/agent.env"
            chown muster-agent:muster-agent "$state" "$first" # it removes that once it has its own
        else
            say "no account of its own could be made: the agent runs as root"
            sed -i '/^User=/d; /^Group=/d' "$units/muster-agent.service"
        fi
    else
        cat >"$units/muster-agent.service" <<UNIT
[Unit]
Description=muster agent: this node's GPUs to the hub

[Service]
Type=notify
ExecStart="$bin/muster-agent" --env-file "$etc/agent.env"
ExecReload=/bin/kill -HUP \$MAINPID
Restart=always
RestartSec=5
WatchdogSec=60
MemoryMax=256M

[Install]
WantedBy=default.target
UNIT
    fi
    chmod 644 "$units/muster-agent.service"
}

install_agent() {
    token=$1
    command -v curl >/dev/null 2>&1 || die "curl is missing"
    mine=$(uname -m)
    [ -n "$arch" ] || die "the hub has no agent binary to hand out: copy muster-agent to $bin by hand"
    [ "$mine" = "$arch" ] || die "this machine is $mine, the hub's agent is for $arch: build one with \`make agent\` and copy it to $bin"
    ask /api/v1/whoami /dev/null || die "the hub does not take this token: \`muster token list\` on the hub shows those it takes"
    mkdir -p "$bin"
    new=$bin/.muster-agent.new
    unit='' first=''
    trap 'rm -f "$new" ${unit:+"$unit"} ${first:+"$first"}' EXIT
    ask "/install/muster-agent-$arch" "$new" || die "cannot fetch the agent from $hub"
    check_sum "$sum" "$new"
    chmod 755 "$new"
    problem=$("$new" --version 2>&1) || die "the agent does not run here: $problem"
    if [ -z "$scope" ] && systemd; then # before anything is changed
        mkdir -p "$units"
        unit=$units/.muster-agent.service.new
        ask /install/muster-agent.service "$unit" || die "cannot fetch the unit from $hub"
        check_sum "$unit_sum" "$unit"
    fi
    stop_agent
    mv -f "$new" "$bin/muster-agent"

    umask 077
    mkdir -p "$etc" "$state"
    rm -f "$etc/agent.token" "$state/first.token"
    # Created next to the state folder, which may belong to the agent: a link in it could lead root elsewhere.
    first=$(mktemp "${state%/*}/.muster-agent.XXXXXX")
    printf '%s\n' "$token" >"$first"
    {
        echo "# muster-agent: MUSTER_NAME=value lines; \`muster-agent --help\` lists them"
        echo "MUSTER_HUB=$hub"
        echo "MUSTER_TOKEN_FILE=$state/first.token"
        echo "MUSTER_STATE_DIR=$state"
        if [ -n "$pin" ]; then echo "MUSTER_PIN=$pin"; fi
    } >"$etc/agent.env"

    if systemd; then
        mkdir -p "$units"
        write_unit
        mv -fT "$first" "$state/first.token"
        systemctl $scope daemon-reload
        systemctl $scope enable muster-agent.service >/dev/null 2>&1
        systemctl $scope restart muster-agent.service || die "the service does not start; see: journalctl $scope -u muster-agent"
        say "running as a service; see: systemctl $scope status muster-agent"
        if [ -n "$scope" ]; then say "to keep it running when you log out: loginctl enable-linger"; fi
    else
        mv -fT "$first" "$state/first.token"
        nohup "$bin/muster-agent" --env-file "$etc/agent.env" >"$state/agent.log" 2>&1 </dev/null &
        echo $! >"$state/agent.pid"
        sleep 1
        kill -0 "$(cat "$state/agent.pid")" 2>/dev/null || die "the agent ended at once: $(tail -n 1 "$state/agent.log")"
        say "no systemd here: started in the background, log in $state/agent.log; start it at boot yourself:"
        say "  $bin/muster-agent --env-file $etc/agent.env"
    fi
    say "this node appears on $hub within seconds"
}

# From the terminal, since standard input is this script; without an echo.
ask_token() {
    { true </dev/tty >/dev/tty; } 2>/dev/null || die "no token given: sh -s -- --token-file FILE, or MUSTER_TOKEN in the environment"
    was=$(stty -g </dev/tty 2>/dev/null) || was=''
    if [ -n "$was" ]; then
        trap 'stty "$was" </dev/tty' EXIT INT TERM
        stty -echo </dev/tty
    fi
    printf 'muster: token for %s (made with `muster token new --role enroll`): ' "$hub" >/dev/tty
    IFS= read -r given </dev/tty || given=''
    if [ -n "$was" ]; then
        stty "$was" </dev/tty
        trap - EXIT INT TERM
    fi
    echo >/dev/tty
}

read_token() { # file
    [ -n "$1" ] || die "--token-file needs the name of a file"
    [ -r "$1" ] || die "cannot read '$1'"
    IFS= read -r given <"$1" || [ -n "$given" ] || die "'$1' is empty"
}

given='' check=yes
case "${1:-}" in
--uninstall) check='' ;;
--token-file) read_token "${2:-}" ;;
--token-file=*) read_token "${1#--token-file=}" ;;
'') if [ -n "${MUSTER_TOKEN:-}" ]; then given=$MUSTER_TOKEN; else ask_token; fi ;;
-*) die "'$1' is not understood: sh -s -- [TOKEN | --token-file FILE | --uninstall]" ;;
*) given=$1 ;;
esac
unset MUSTER_TOKEN # neither the agent nor anything else started here is to have it
given=$(printf '%s' "$given" | sed 's/[[:space:]]*$//')
case "$check$given" in
'') uninstall ;;
yesmst_*) install_agent "$given" ;;
yes) die "no token given: sh -s -- --token-file FILE, or MUSTER_TOKEN in the environment" ;;
*) die "that is not a token of muster: they look like mst_xxxxxxxx_..." ;;
esac
