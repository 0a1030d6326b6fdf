/* What the hub sends (docs/api-state.md, /api/v1/metrics), and what the store adds to it. Times are hub's UTC ms. */

export type State = "free" | "held" | "busy" | "unknown" | "starting" | "stale" | "hung" | "lost";

export interface Process {
    pid: number;
    user?: string;
    /** where it differs from user; null: nobody's, as root's where the hub was told so */
    person?: string | null;
    teams?: string[];
    projects?: string[];
    companies?: string[];
    name?: string;
    cmd?: string;
    mem?: number;
    sm?: number;
    kind?: string;
    start?: number;
    /** On this GPU. */
    since?: number;
    runtime?: string;
    container?: string;
    pod?: string;
    slurm_job?: number;
    root_pid?: number;
}

export interface Device {
    uuid: string;
    index: number;
    name: string;
    /** What screens call its model, and where there is little room. */
    display?: string;
    short?: string;
    /** Of an hour, in the state's currency. */
    price?: number;
    /** "starting" is "stale" on the wire, with the next. */
    state: State;
    starting?: boolean;
    reason: string;
    since?: number;
    idle_since?: number;
    /** Of a busy one: utilisation, the mean of the last minute. */
    util_mean?: number;
    age_ms?: number;
    parent?: string;
    mig?: number;
    vendor?: string;
    pci?: string;
    serial?: string;
    minor?: number;
    split?: boolean;
    asleep?: boolean;
    note?: string;
    metrics: Record<string, number>;
    ages?: Record<string, number>;
    throttle?: string[];
    service?: string;
    advice?: { rule: string; title: string; remedy: string; since: number }[];
    processes: Process[];
    custom?: Record<string, number>;
    /** The one under way. */
    booking?: DeviceBooking;
    /** The one to come first. */
    next?: DeviceBooking;
    /** When its newest sample was taken; absent: never. Made by the store. */
    heard?: number;
}

export interface DeviceBooking {
    id: number;
    person: string;
    from: number;
    until: number;
    comment?: string;
}

/** docs/bookings.md: of /api/v1/bookings */
export interface Booking {
    id: number;
    kind: "booking" | "wait";
    person: string;
    node: string | null;
    node_id: string | null;
    devices: string[];
    /** Each of its GPUs, with what is done on that one. */
    places: BookedPlace[];
    gpus: (number | null)[];
    models: string[];
    from: number;
    until: number;
    /** Given back before its end. */
    released?: number;
    comment?: string | null;
    by?: string | null;
    created: number;
    state: "planned" | "active" | "over" | "released";
    /** What is really done with it, while it is active. */
    use: "unused" | "own" | "others" | "shared" | null;
    others?: string[];
    mine: boolean;
}

export interface BookedPlace {
    device: string;
    node: string | null;
    use: Booking["use"];
    others: string[];
}

export interface Bookings {
    auth: "open" | "token" | "proxy";
    me: string | null;
    rows: Booking[];
    /** Who is in line. */
    waits?: Wait[];
}

/** docs/wait.md: somebody in line. */
export interface Wait {
    id: number;
    person: string;
    state: "waiting" | "yours" | "over" | "left";
    ahead?: number;
    count: number;
    model?: string;
    /** A pattern, or "dgx2:3". */
    node?: string;
    same_host?: boolean;
    tell?: boolean;
    since: number;
    /** Once it is theirs. */
    until?: number;
    where?: string;
    devices?: { device: string }[];
}

/** What is to be booked, or changed where id is. */
export interface Draft {
    id?: number;
    /** Its start cannot be changed any more. */
    begun?: boolean;
    devices: string[];
    from?: number;
    until?: number;
    comment?: string;
    person?: string;
    /** Somebody else's: only said. */
    words?: string;
    /** What the hub said to it last. */
    wrong?: string;
}

export interface Node {
    id: string;
    name: string;
    /** What screens call it. */
    display?: string;
    /** Of another hub that this one follows, and where its page is. */
    site?: string;
    site_url?: string;
    state: "up" | "down" | "hung" | "paused" | "maintenance";
    reason: string;
    since?: number;
    age_ms?: number;
    /** With a filter: how many GPUs it has, where not all are shown. */
    of?: number;
    version: number;
    address?: string;
    /** What sources of names say of it. */
    labels?: Record<string, string>;
    clock_off_ms?: number;
    demo?: boolean;
    retired?: boolean;
    maintenance?: boolean;
    /** No list and no source names it any more: its GPUs do not count. */
    unlisted?: boolean;
    /** It has sent no sample, ever. */
    never_sampled?: boolean;
    /** The silent node whose GPUs it has. */
    belonged_to?: string;
    belonged_to_id?: string;
    collect?: string;
    agent?: string;
    collector?: string;
    tick_ms?: number;
    driver?: string;
    cuda?: string;
    os?: string;
    kernel?: string;
    arch?: string;
    cpu?: string;
    cpus?: number;
    metrics: Record<string, number>;
    custom?: Record<string, number>;
    custom_metrics?: { name: string; unit?: string; kind: string; per: number }[];
    devices: Device[];
    /** When it was last heard of; absent: never. Made by the store. */
    heard?: number;
}

export interface Snapshot {
    at: number;
    demo: boolean;
    version: number;
    muster: string;
    currency?: string;
    notice?: string;
    filter?: string;
    of?: number;
    /** What the bare words of the filter are. */
    words?: string;
    nodes: Node[];
}

export interface Metric {
    name: string;
    label: string;
    unit: string;
    per: number;
    kind: "gauge" | "counter";
    scope: "device" | "node";
}

export interface Facts {
    muster: string;
    /** Of git; absent where it is not known. */
    commit?: string;
    /** Of the store. */
    format: number;
    name: string;
    /** A line below the head. */
    about?: string;
    /** By whose limits to colour; absent: our own. */
    colours?: string;
    states: { word: State; mark: string; ascii: string; meaning: string }[];
    /** The glossary: what screens call how much a GPU is used. */
    terms: { word: string; meaning: string }[];
    node_states: string[];
    events: string[];
    /** Kinds of events that an admin should look at. */
    trouble: string[];
    metrics: Metric[];
}

/** An RFC 9457 problem, or what the network said in its place (status 0). */
export interface Advised {
    /** False: the hub still reads what runs did, and nothing else is here. */
    ready: boolean;
    runs: number;
    /** Runs without data now: they are not judged. */
    withheld: number;
    /** Held by the same people in that time, by usage, and which share of it was in runs. */
    usage_hours: number | null;
    share: number | null;
    looked: number;
    sampled: number;
    gpu_hours: number;
    looked_hours: number;
    effective_hours: number | null;
    currency: string | null;
    lines: { person: string | null; rule: string; title: string; remedy: string; evidence: string; gpu_hours: number; cost: number | null; runs: number; run: string; name: string }[];
}

export interface Problem {
    status: number;
    detail: string;
    column?: number;
}

/** docs/history.md */
export interface History {
    from: number;
    to: number;
    step: number;
    tier: "raw" | "minute" | "hour";
    filled?: "minute" | "hour"; /* where that tier had nothing */
    damaged?: number; /* columns that could not be read */
    series: { device: string | null; node: string; node_id: string; index: number | null; metric: string; unit: string; agg: string; v: (number | null)[] }[];
}

/** docs/history.md: the night strip. Bins are [first, behind the last). */
export interface StripRow {
    /** "dgx1:0" */
    name: string;
    node: string;
    device: string;
    index: number;
    mig?: number;
    model: string | null;
    state: State;
    by: "util" | "sm_active";
    /** Percent; null: not known. */
    work: (number | null)[];
    held: [number, number, string | null][];
    idle: [number, number][];
    booked?: { from: number; to: number; person: string }[];
    /** to null: it still is. */
    wrong?: { from: number; to: number | null; what: string }[];
}

export interface Strip {
    from: number;
    to: number;
    step: number;
    now: number;
    /** Watts of all. */
    power: (number | null)[];
    free: (number | null)[];
    rows: StripRow[];
}

/** A stretch in which somebody was on a device: /api/v1/processes?from= */
export interface Job {
    id: string;
    name: string;
    kind: string;
    state: string;
    person: string | null;
    node: string | null;
    devices: string[];
    /** What nodes call them now; null: no node has it. */
    gpus: (number | null)[];
    parent: string | null;
    start: number;
    end: number | null;
    /** Of one that is unfinished: the newest data of its GPUs. */
    data_to?: number;
    attributes?: Record<string, any>;
}

/** What GPUs did in the time of a run; null: not measured. */
export interface RunMeans {
    active: number | null;
    waited: number | null;
    tensor_peak: number | null;
    work: number | null;
    flops: number | null;
    util: number | null;
    power: number | null;
    host_cpu: number | null;
    host_cpu_top: number | null;
    memory_peak: number | null;
    memory_total: number | null;
    power_peak: number | null;
    temperature_peak: number | null;
    energy: number | null;
}

export interface VerdictGpu extends RunMeans {
    device: string;
    node: string;
    node_id: string;
    gpu: number | null;
}

export interface Verdict extends RunMeans {
    gpus: string;
    from: number;
    to: number;
    /** With data. */
    seconds: number;
    unknown_seconds: number;
    /** Of which GPUs there is no data now. */
    no_data: { since: number; gpus: number; node: string; state: string } | null;
    measured: boolean;
    why: string | null;
    cost: number | null;
    currency: string | null;
    rules: boolean;
    /** The run is shorter than rules need. */
    rules_why?: string;
    advice: { rule: string; title: string; evidence: string; remedy: string; seconds: number; devices: string[] }[];
    devices: VerdictGpu[];
    job: Job;
}

export interface Span {
    node: string | null;
    node_id: string;
    device: string;
    index: number | null;
    user: string | null;
    program: string | null;
    first: number;
    last: number;
    ended: boolean;
    memory_max: number | null;
    processes: number;
    /** Not ended, and its GPU is in sight. */
    there: boolean;
    /** null: nobody's, or not known. */
    person: string | null;
}

export interface EventRecord {
    at: number;
    node: string;
    node_id: string;
    device: string | null;
    /** Of the device, where its node still has it. */
    index?: number;
    kind: string;
    code: number;
    meaning?: string | null;
    /** In words: "Xid 79: GPU has fallen off the bus; needs a reboot". */
    about: string;
    text: string;
}

/** docs/usage.md: seconds, byte-seconds, joules, grams; what does not apply is absent. */
export interface UsageRow {
    /** null: nobody known, in no team. */
    key: string | null;
    /** A device's "dgx2:0", a job's name; of what was nobody's "nobody". */
    name?: string;
    node?: string;
    model?: string;
    person?: string;
    at: number;
    label?: string;
    held?: number;
    busy?: number;
    idle?: number;
    idle_long?: number;
    memory?: number;
    energy?: number;
    effective_measured?: number;
    /** Absent: nothing of it was measured. */
    effective?: number;
    tensor_measured?: number;
    tensor?: number;
    effective_energy?: number;
    energy_per_effective_hour?: number;
    gpus?: number;
    cost?: number;
    co2?: number;
    wall?: number;
    free?: number;
    booked_unused?: number;
    down?: number;
}

export interface Usage {
    from: number;
    to: number;
    by: string;
    period: string;
    zone?: string;
    counted_to?: number;
    /** The first hour that is counted of any node; null: none. */
    records_from?: number | null;
    /** Hours of nodes that are still to be counted. */
    waiting?: number;
    split?: string;
    currency?: string | null;
    rows: UsageRow[];
    total?: UsageRow;
}

/** Of /api/v1/people: what "who to ask" needs. */
export interface Asked {
    person: string | null;
    gpus: number;
    booked?: number;
    /** GPUs held, a shared one by memory. */
    used?: number;
    ema?: { "2h": number; "24h": number; "1w": number };
    /** Records begin then, where they are shorter than a week. */
    records_from?: number;
}

/** A GPU held without work: /api/v1/idle */
export interface IdleRow {
    person: string | null;
    login: string | null;
    node: string;
    node_id: string;
    device: string;
    index: number | null;
    model: string | null;
    since: number;
    idle: number;
    memory: number | null;
    program: string | null;
    cost: number | null;
}

/** docs/alerts.md: something that is wrong now, or was. */
export interface Alert {
    id: number;
    rule: string;
    severity: "info" | "warning" | "critical";
    state: "pending" | "firing" | "resolved";
    subject: string;
    /** "dgx2:3", "dgx2"; "": the hub itself */
    place: string;
    node_id: string | null;
    device: string | null;
    person: string | null;
    text: string;
    advice: string;
    since: number;
    fired?: number;
    resolved?: number;
    /** It happened, and has no end. */
    notice?: boolean;
    silenced?: { id: number; by: string; until: number; reason: string };
}

/** Nobody is told of what fits; "": any. */
export interface Silence {
    id: number;
    rule: string;
    node: string;
    person: string;
    by: string;
    /** A member's: of critical alerts it fits those about this person alone. */
    owner: string | null;
    reason: string;
    created: number;
    until: number;
}

/** Who is told, and how that does. */
export interface Channel {
    name: string;
    type: string;
    ok: boolean;
    /** Why it fails, and since when. */
    error?: string;
    since?: number;
    /** Messages. */
    waiting: number;
}

export interface Alerts {
    at: number;
    /** How many fire that nobody silenced. */
    firing: number;
    rows: Alert[];
    silences: Silence[];
    channels: Channel[];
}

/** docs/reports.md: a report that goes out by itself. */
export interface Bulletin {
    name: string;
    what: string;
    every: string;
    at: string;
    zone: string;
    channels: string[];
    filter: string | null;
    company: string | null;
    team: string | null;
    next: number | null;
    sent: number | null;
    error: string | null;
}

/** Whom the hub takes us for. */
export interface Session {
    role: "none" | "agent" | "enroll" | "relay" | "reader" | "member" | "admin";
    person?: string;
    /** Who may read: everybody, or whoever has a token. */
    read?: "open" | "token";
}

/** A view: one line of views.js. */
export interface View {
    /** "/node/": a path that goes on is the view's argument; "/people": none. */
    path: string;
    /** Paths of older systems' pages that are this one. */
    also?: string[];
    title: string;
    /** In the navigation under this word; absent: reached by links. */
    nav?: string;
    /** Second letter after g. */
    key?: string;
    load: () => Promise<{ default: import("preact").FunctionComponent<{ arg: string }> }>;
}

export interface Place {
    path: string;
    query: URLSearchParams;
}

export {};
