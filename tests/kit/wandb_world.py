"""What a stand-in for W&B holds: entities, projects, runs, files, artifacts, alerts; and the GraphQL schema over it, as far as W&B's clients ask.

The names of attributes are those of the schema (../shared/protocols/wandb.md). Nothing here knows HTTP.
"""
import base64
import calendar
import fnmatch
import hashlib
import json
import re
import secrets
import time

from wandb_gql import Schema, Wrong

SCHEMA = Schema("""
type Query {
  viewer: User
  models(entityName: String, after: String, first: Int): ProjectConnection
  project(name: String, entityName: String): Project
  model(name: String, entityName: String): Project
  artifact(id: ID!): Artifact
}
type User { id: ID! name: String username: String entity: String email: String admin: Boolean flags: String teams: EntityConnection }
type EntityConnection { edges: [EntityEdge!]! }
type EntityEdge { node: Entity }
type Entity { id: ID! name: String! }
type PageInfo { endCursor: String hasNextPage: Boolean! }
type ProjectConnection { edges: [ProjectEdge!]! pageInfo: PageInfo! }
type ProjectEdge { node: Project cursor: String! }
type Project {
  id: ID! internalId: ID name: String! entityName: String! createdAt: DateTime! isBenchmark: Boolean! readOnly: Boolean entity: Entity
  runCount(filters: JSONString): Int!
  runs(filters: JSONString, after: String, first: Int, order: String): RunConnection
  run(name: String!): Run
  bucket(name: String!, missingOk: Boolean): Run
  artifact(name: String!): Artifact
  artifactType(name: String!): ArtifactType
}
type RunConnection { edges: [RunEdge!]! pageInfo: PageInfo! totalCount: Int! }
type RunEdge { node: Run cursor: String! }
type RunInfo { gpu: String gpuCount: Int cpuCount: Int }
type Run {
  id: ID! name: String! displayName: String state: String tags: [String!] group: String jobType: String host: String sweepName: String
  createdAt: DateTime! heartbeatAt: DateTime updatedAt: DateTime description: String notes: String
  config: JSONString summaryMetrics: JSONString systemMetrics: JSONString
  historyLineCount: Int eventsLineCount: Int logLineCount: Int
  user: User runInfo: RunInfo project: Project readOnly: Boolean
  events(samples: Int): [String!] history(samples: Int, minStep: Int64, maxStep: Int64): [String!]
  fileCount: Int files(names: [String], after: String, first: Int, pattern: String): FileConnection
  outputArtifacts(after: String, first: Int): ArtifactConnection
}
type ArtifactConnection { edges: [ArtifactEdge!]! pageInfo: PageInfo! totalCount: Int! }
type ArtifactEdge { node: Artifact cursor: String! }
type FileConnection { edges: [FileEdge!]! pageInfo: PageInfo! }
type FileEdge { node: File cursor: String! }
type File {
  id: ID! name: String! url(upload: Boolean): String directUrl: String sizeBytes: Int64 mimetype: String updatedAt: DateTime md5: String digest: String
  uploadUrl: String uploadHeaders: [String!] uploadMultipartUrls: UploadUrls storagePath: String artifact: Artifact displayName: String
}
type UploadUrls { uploadID: String uploadUrlParts: [UploadPart!] }
type UploadPart { partNumber: Int uploadUrl: String }
type ArtifactType { id: ID! name: String! artifact(name: String!): Artifact }
type ArtifactSequence { id: ID! name: String! latestArtifact: Artifact }
type ArtifactManifest { id: ID! digest: String file: File }
type ArtifactAlias { alias: String! artifactCollectionName: String }
type Artifact {
  id: ID! state: String! digest: String! size: Int64 description: String metadata: JSONString versionIndex: Int createdAt: DateTime
  aliases: [ArtifactAlias!] artifactType: ArtifactType artifactSequence: ArtifactSequence currentManifest: ArtifactManifest
  files(names: [String!], after: String, first: Int): FileConnection
}
type Mutation {
  upsertBucket(input: UpsertBucketInput!): UpsertBucketPayload
  upsertModel(input: UpsertModelInput!): UpsertModelPayload
  updateRunState(input: UpdateRunStateInput!): Success
  notifyScriptableRunAlert(input: NotifyScriptableRunAlertInput!): Success
  createRunFiles(input: CreateRunFilesInput!): CreateRunFilesPayload
  createArtifact(input: CreateArtifactInput!): CreateArtifactPayload
  createArtifactManifest(input: CreateArtifactManifestInput!): CreateArtifactManifestPayload
  createArtifactFiles(input: CreateArtifactFilesInput!): CreateArtifactFilesPayload
  commitArtifact(input: CommitArtifactInput!): CommitArtifactPayload
}
input UpsertBucketInput {
  id: String name: String groupName: String modelName: String entityName: String description: String displayName: String notes: String
  config: JSONString commit: String host: String debug: Boolean jobProgram: String jobRepo: String jobType: String state: String sweep: String
  tags: [String!] summaryMetrics: JSONString clientMutationId: String
}
type UpsertBucketPayload { bucket: Run inserted: Boolean }
input UpsertModelInput { id: String name: String entityName: String description: String access: String repo: String framework: String clientMutationId: String }
type UpsertModelPayload { model: Project project: Project inserted: Boolean }
input UpdateRunStateInput { id: ID! state: String! }
type Success { success: Boolean }
enum AlertSeverity { INFO WARN ERROR }
input NotifyScriptableRunAlertInput {
  entityName: String! projectName: String! runName: String! title: String! text: String! severity: AlertSeverity waitDuration: Duration
}
input CreateRunFilesInput { entityName: String! projectName: String! runName: String! files: [String!]! }
type CreateRunFilesPayload { runID: ID! uploadHeaders: [String!]! files: [RunFile!]! }
type RunFile { name: String! uploadUrl: String! }
enum ArtifactDigestAlgorithm { MANIFEST_MD5 }
enum ArtifactManifestType { FULL INCREMENTAL PATCH }
enum ArtifactStorageLayout { V1 V2 }
input ArtifactAliasInput { artifactCollectionName: String! alias: String! }
input TagInput { tagName: String! }
input CreateArtifactInput {
  entityName: String! projectName: String! artifactTypeName: String! artifactCollectionName: String artifactCollectionNames: [String!] runName: String
  digest: String! digestAlgorithm: ArtifactDigestAlgorithm! description: String aliases: [ArtifactAliasInput!] tags: [TagInput!] metadata: JSONString
  ttlDurationSeconds: Int64 historyStep: Int64 enableDigestDeduplication: Boolean distributedID: String clientID: ID! sequenceClientID: ID! clientMutationId: String
}
type CreateArtifactPayload { artifact: Artifact! }
input CreateArtifactManifestInput {
  name: String! digest: String! artifactID: ID! baseArtifactID: ID entityName: String! projectName: String! runName: String! type: ArtifactManifestType
}
type CreateArtifactManifestPayload { artifactManifest: ArtifactManifest! }
input UploadPartInput { partNumber: Int64! hexMD5: String! }
input CreateArtifactFileSpecInput { artifactID: ID! name: String! md5: String! mimetype: String artifactManifestID: ID uploadPartsInput: [UploadPartInput!] }
input CreateArtifactFilesInput { artifactFiles: [CreateArtifactFileSpecInput!]! storageLayout: ArtifactStorageLayout }
type CreateArtifactFilesPayload { files: FileConnection! }
input CommitArtifactInput { artifactID: ID! }
type CommitArtifactPayload { artifact: Artifact! }
""")

STATES = ("running", "finished", "crashed", "failed", "killed", "preempting", "preempted", "pending")
PAGE_MAX = 1000
RAW = "\x00raw%d\x00"
MAX_NAME = re.compile(r"[a-zA-Z0-9_\-.]{1,128}$")


def now_text():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def when_ms(text):
    """ISO 8601, UTC, with or without Z and fractions, in ms."""
    m = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]00:?00)?", str(text))
    if not m:
        raise Wrong(f"cannot read the time '{text}'")
    y, mo, d, h, mi, s = (int(x or 0) for x in m.groups()[:6])
    return calendar.timegm((y, mo, d, h, mi, s)) * 1000 + int((m.group(7) or "0").ljust(3, "0")[:3])


def b64(text):
    return base64.b64encode(text.encode()).decode()


def b64_md5(data):
    return base64.b64encode(hashlib.md5(data).digest()).decode()


def manifest_digest(entries):
    """Of {path: base64 md5}, as the SDK makes it."""
    h = hashlib.md5(b"wandb-artifact-manifest-v1\n")
    for path in sorted(entries):
        h.update(f"{path}:{entries[path]}\n".encode())
    return h.hexdigest()


def page(items, after, first, node=lambda x: x):
    """A connection. Cursors are opaque: where the next item is."""
    first = 50 if first is None else first
    if first < 1 or first > PAGE_MAX:
        raise Wrong(f"first must be between 1 and {PAGE_MAX}")
    start = 0
    if after:
        try:
            word, start = base64.b64decode(after, validate=True).decode().split(":")
            start = int(start)
            if word != "cursor":
                raise ValueError
        except ValueError:
            raise Wrong("invalid cursor") from None
    part = items[start:start + first]
    edges = [{"node": node(x), "cursor": b64(f"cursor:{start + k + 1}")} for k, x in enumerate(part)]
    return {"edges": edges, "totalCount": len(items),
            "pageInfo": {"endCursor": edges[-1]["cursor"] if edges else None, "hasNextPage": start + first < len(items)}}


class Run:
    """One run. `metrics` (a programme's, or None) answers events; runs made through the API have lines instead."""

    def __init__(self, project, name, **kw):
        self.project, self.name = project, name
        self.id = b64(f"Run:v1:{name}:{project.name}:{project.entityName}")
        self.displayName = self.state = self.group = self.jobType = self.host = self.description = self.notes = self.sweepName = None
        self.tags, self.user, self.runInfo, self.metrics = [], None, None, None
        self.createdAt = self.heartbeatAt = self.updatedAt = None
        self.config, self.summaryMetrics, self.systemMetrics = "{}", "{}", "{}"
        self.stored, self.lines, self.exitcode = {}, {}, None
        self.readOnly = False
        self.__dict__.update(kw)

    historyLineCount = property(lambda self: len(self.lines.get("wandb-history.jsonl", ())))
    eventsLineCount = property(lambda self: len(self.lines.get("wandb-events.jsonl", ())))
    logLineCount = property(lambda self: len(self.lines.get("output.log", ())))
    fileCount = property(lambda self: len(self.stored))

    def events(self, samples=500):
        if self.metrics is not None:  # JSON already: the server puts it in the place of this word
            raws = self.project.world.raws
            raws.append(self.metrics.answer(samples))
            return RAW % (len(raws) - 1)
        return thin(self.lines.get("wandb-events.jsonl", []), samples)

    def history(self, samples=500, minStep=None, maxStep=None):
        return thin(self.lines.get("wandb-history.jsonl", []), samples)

    def files(self, names=None, after=None, first=50, pattern=None):
        keep = [n for n in sorted(self.stored) if (not names or n in names) and (not pattern or fnmatch.fnmatch(n, pattern.replace("%", "*")))]
        return page(keep, after, first, self.file)

    def outputArtifacts(self, after=None, first=50):
        return page([a for c in self.project.collections.values() for a in c.versions if a.given.get("runName") == self.name], after, first)

    def file(self, name):
        data = self.stored[name]
        url = f"{self.project.world.url}/files/{self.project.entityName}/{self.project.name}/{self.name}/{name}"
        return {"id": b64(name), "name": name, "url": lambda upload=False: url, "directUrl": url, "sizeBytes": len(data), "md5": b64_md5(data),
                "mimetype": "", "updatedAt": self.updatedAt}


def thin(rows, samples):
    """At most `samples` of them, evenly: as a server does that keeps every n-th."""
    n = len(rows)
    if samples is None or samples < 1:
        raise Wrong("samples must be positive")
    return rows if n <= samples else [rows[k * n // samples] for k in range(samples)]


class Project:
    def __init__(self, world, entity, name, created="2024-01-01T00:00:00Z"):
        self.world, self.entityName, self.name, self.createdAt = world, entity, name, created
        self.id, self.internalId = b64(f"Project:v1:{name}:{entity}"), b64(f"ProjectInternalId:{abs(hash(name)) % 10**6}")
        self.isBenchmark = self.readOnly = False
        self.entity = {"id": b64(f"Entity:{entity}"), "name": entity}
        self.byname, self.collections, self.version, self.kept = {}, {}, 0, {}

    def add(self, run):
        self.byname[run.name] = run
        self.version += 1

    def drop(self, name):
        del self.byname[name]
        self.version += 1

    def listed(self, filters, order):
        key = (filters, order)
        if self.kept.get(key, (-1,))[0] != self.version:
            fits = Filter(filters)
            runs = [r for r in self.byname.values() if fits(r)]
            back, field = (order or "+created_at")[0] == "-", (order or "+created_at").lstrip("+-")
            if field not in ("created_at", "heartbeat_at"):
                raise Wrong(f"cannot order by '{field}'")
            runs.sort(key=lambda r: (r.createdAt if field == "created_at" else r.heartbeatAt or "", r.name), reverse=back)
            self.kept[key] = (self.version, runs)
        return self.kept[key][1]

    def runs(self, filters=None, after=None, first=50, order=None):
        first = first or 50
        return page(self.listed(filters, order), after, first if first > PAGE_MAX else min(first, self.world.page_most))

    def runCount(self, filters=None):
        return len(self.listed(filters, None))

    def run(self, name):
        return self.byname.get(name)

    def bucket(self, name, missingOk=False):
        if name not in self.byname and not missingOk:
            raise Wrong(f"run {self.entityName}/{self.name}/{name} not found during bucket query")
        return self.byname.get(name)

    def artifact(self, name):
        coll, _, alias = name.partition(":")
        return self.collections[coll].get(alias or "latest") if coll in self.collections else None

    def artifactType(self, name):
        def of(**kw):
            got = self.artifact(kw["name"])
            return got if got and got.type == name else None
        return {"id": b64("ArtifactType:" + name), "name": name, "artifact": of}


class Filter:
    """MongoDB-like: {"createdAt":{"$lt":"..."}}, {"tags":{"$in":[..]}}, $and, $or, $nor."""
    OPS = {"$eq": lambda a, b: a == b, "$ne": lambda a, b: a != b, "$gt": lambda a, b: a > b, "$gte": lambda a, b: a >= b, "$lt": lambda a, b: a < b,
           "$lte": lambda a, b: a <= b, "$in": lambda a, b: a in b, "$nin": lambda a, b: a not in b, "$exists": lambda a, b: (a is not None) == b,
           "$regex": lambda a, b: re.search(b, a or "") is not None}

    def __init__(self, text):
        self.spec = json.loads(text) if text else {}
        self.test = self.build(self.spec)

    def __call__(self, run):
        return self.test(run)

    def build(self, spec):
        if not isinstance(spec, dict):
            raise Wrong("invalid filters")
        tests = []
        for key, want in spec.items():
            if key in ("$and", "$or", "$nor"):
                parts = [self.build(s) for s in want]
                tests.append({"$and": lambda r, p=parts: all(t(r) for t in p), "$or": lambda r, p=parts: any(t(r) for t in p),
                              "$nor": lambda r, p=parts: not any(t(r) for t in p)}[key])
                continue
            tests.append(self.one(key, want if isinstance(want, dict) else {"$eq": want}))
        return lambda r: all(t(r) for t in tests)

    def one(self, key, ops):
        read = self.reader(key)
        checks = []
        for op, want in ops.items():
            if op not in self.OPS:
                raise Wrong(f"unknown operator '{op}'")
            if key == "createdAt" and op != "$exists":
                want = [when_ms(w) for w in want] if isinstance(want, list) else when_ms(want)
            checks.append((self.OPS[op], want))
        if key == "tags":  # a list: any of them
            return lambda r: all(any(f(t, w) for t in r.tags) if f not in (self.OPS["$ne"], self.OPS["$nin"]) else all(f(t, w) for t in r.tags)
                                 for f, w in checks)
        return lambda r: all(f(read(r), w) for f, w in checks)

    @staticmethod
    def reader(key):
        if key == "createdAt":
            return lambda r: when_ms(r.createdAt)
        if key in ("displayName", "group", "host", "jobType", "name", "state", "tags"):
            return lambda r: getattr(r, key)
        if key == "username":
            return lambda r: (r.user or {}).get("username")
        if key == "duration":
            return lambda r: (when_ms(r.heartbeatAt) - when_ms(r.createdAt)) // 1000
        if key.startswith("config."):
            return lambda r: (json.loads(r.config).get(key[7:]) or {}).get("value")
        if key.startswith("summary_metrics."):
            return lambda r: json.loads(r.summaryMetrics).get(key[16:])
        raise Wrong(f"unknown filter key '{key}'")


class Artifact:
    def __init__(self, collection, digest, given):
        self.collection, self.digest, self.type = collection, digest, given["artifactTypeName"]
        self.id = b64("Artifact:" + secrets.token_hex(6))
        self.state, self.versionIndex, self.given = "PENDING", None, given
        self.description, self.metadata, self.createdAt = given.get("description"), given.get("metadata"), now_text()
        self.contents, self.manifest, self.manifests, self.wanted = {}, None, {}, {}

    size = property(lambda self: sum(len(d) for d in self.contents.values()))
    artifactType = property(lambda self: {"id": b64("ArtifactType:" + self.type), "name": self.type})
    artifactSequence = property(lambda self: {"id": b64("Sequence:" + self.collection.name), "name": self.collection.name,
                                              "latestArtifact": lambda: self.collection.get("latest")})
    aliases = property(lambda self: [{"alias": a, "artifactCollectionName": self.collection.name} for a, v in self.collection.aliases.items() if v is self])

    @property
    def currentManifest(self):
        if self.state != "COMMITTED":
            return None
        url = f"{self.collection.world.url}/artifactsV2/default/{self.id}/wandb_manifest.json"
        return {"id": b64("Manifest:" + self.id), "digest": b64_md5(self.manifest), "file": {"id": b64("m"), "name": "wandb_manifest.json", "directUrl": url}}

    def files(self, names=None, after=None, first=50):
        def node(name):
            url = f"{self.collection.world.url}/artifactsV2/default/{self.id}/{name}"
            return {"id": b64(name), "name": name, "directUrl": url, "url": lambda upload=False: url, "sizeBytes": len(self.contents[name]),
                    "md5": b64_md5(self.contents[name]), "digest": b64_md5(self.contents[name])}
        return page([n for n in sorted(self.contents) if not names or n in names], after, first, node)

    def commit(self):
        if self.state == "COMMITTED":
            return
        if self.manifest is None:
            raise Wrong("cannot commit: no manifest was uploaded")
        m = json.loads(self.manifest)
        if m.get("version") != 1 or m.get("storagePolicy") != "wandb-storage-policy-v1" or m.get("storagePolicyConfig", {}).get("storageLayout") != "V2":
            raise Wrong("cannot commit: the manifest is not one of version 1")
        entries = m.get("contents", {})
        if set(entries) != set(self.contents):
            raise Wrong(f"cannot commit: the manifest has {sorted(entries)}, uploaded were {sorted(self.contents)}")
        for name, entry in entries.items():
            data = self.contents[name]
            if entry.get("digest") != b64_md5(data) or entry.get("size") != len(data) or entry.get("birthArtifactID") != self.id:
                raise Wrong(f"cannot commit: the manifest is wrong about {name}")
        if manifest_digest({n: e["digest"] for n, e in entries.items()}) != self.digest:
            raise Wrong("cannot commit: the digest of the artifact is not that of its manifest")
        self.state, self.versionIndex = "COMMITTED", len(self.collection.versions)
        self.collection.versions.append(self)
        for alias in ["latest", *(a["alias"] for a in self.given.get("aliases") or [])]:
            self.collection.aliases[alias] = self


class Collection:
    def __init__(self, world, name):
        self.world, self.name, self.versions, self.aliases = world, name, [], {}

    def get(self, alias):
        m = re.fullmatch(r"v(\d+)", alias)
        if m:
            return self.versions[int(m.group(1))] if int(m.group(1)) < len(self.versions) else None
        return self.aliases.get(alias)


class World:
    """Everything, and the root of queries and mutations."""

    def __init__(self):
        self.url, self.entities, self.artifacts, self.alerts, self.raws = "", {}, {}, [], []
        self.page_most = PAGE_MAX  # a server may give fewer runs than it was asked for
        self.pending = {}  # upload path -> (what, check, keep)
        self.viewer = {"id": b64("User:1"), "name": "Stand In", "username": "standin", "entity": "standin", "email": "standin@example.org", "admin": False,
                       "flags": "{}", "teams": lambda: {"edges": [{"node": {"id": b64(e), "name": e}} for e in sorted(self.entities)]}}

    # ---- building ----

    def add_project(self, entity, name, **kw):
        projects = self.entities.setdefault(entity, {})
        if name not in projects:
            projects[name] = Project(self, entity, name, **kw)
        return projects[name]

    def find(self, entity, project, run=None):
        p = self.entities.get(entity, {}).get(project)
        return p if run is None or p is None else p.byname.get(run)

    def all_runs(self):
        return [r for ps in self.entities.values() for p in ps.values() for r in p.byname.values()]

    # ---- queries ----

    def models(self, entityName=None, after=None, first=50):
        if entityName not in self.entities:
            return None
        return page(list(self.entities[entityName].values()), after, first)

    def project(self, name=None, entityName=None):
        return self.find(entityName, name)

    model = project

    def artifact(self, id):
        return self.artifacts.get(id)

    # ---- mutations ----

    def must_find(self, entity, project, run):
        got = self.find(entity, project, run)
        if not got:
            raise Wrong(f"could not find run {entity}/{project}/{run}")
        return got

    def upsertBucket(self, input):
        inserted = False
        if input.get("id"):
            run = next((r for r in self.all_runs() if r.id == input["id"]), None)
            if not run:
                raise Wrong("run not found")
        else:
            if not input.get("name") or not MAX_NAME.match(input["name"]) or not input.get("modelName") or not input.get("entityName"):
                raise Wrong("name, project and entity are needed")
            p = self.add_project(input["entityName"], input["modelName"], created=now_text())
            run = p.byname.get(input["name"])
            if not run:
                run, inserted = Run(p, input["name"], createdAt=now_text(), heartbeatAt=now_text(), state="running", user={"name": "Stand In", "username": "standin"}), True
                p.add(run)
        for theirs, ours in (("displayName", "displayName"), ("notes", "notes"), ("description", "description"), ("config", "config"), ("host", "host"),
                             ("jobType", "jobType"), ("groupName", "group"), ("tags", "tags"), ("summaryMetrics", "summaryMetrics")):
            if input.get(theirs) is not None:
                setattr(run, ours, input[theirs])
        if input.get("state") is not None:
            if input["state"] not in STATES:
                raise Wrong(f"unknown state '{input['state']}'")
            run.state = input["state"]
        run.updatedAt = now_text()
        run.project.version += 1
        return {"bucket": run, "inserted": inserted}

    def upsertModel(self, input):
        there = self.find(input.get("entityName"), input.get("name")) is not None
        p = self.add_project(input["entityName"], input["name"], created=now_text())
        return {"model": p, "project": p, "inserted": not there}

    def updateRunState(self, input):
        run = next((r for r in self.all_runs() if r.id == input["id"]), None)
        if not run or input["state"] not in ("pending", "failed"):
            raise Wrong("cannot update the state of this run")
        run.state = input["state"]
        return {"success": True}

    def notifyScriptableRunAlert(self, input):
        self.must_find(input["entityName"], input["projectName"], input["runName"])
        if len(input["title"]) >= 64:
            raise Wrong("title is too long")
        self.alerts.append(dict(input))
        return {"success": True}

    def upload(self, check, keep, path=None):
        """A place to PUT to; (url, headers)."""
        path = path or "/storage/" + secrets.token_hex(12)
        ticket = secrets.token_hex(8)
        self.pending[path] = (ticket, check, keep)
        return self.url + path, [f"X-Ticket:{ticket}"]

    def createRunFiles(self, input):
        run = self.must_find(input["entityName"], input["projectName"], input["runName"])
        ticket, files = secrets.token_hex(8), []
        for name in input["files"]:
            if name.startswith("/") or ".." in name:
                raise Wrong("invalid file name")
            path = "/storage/" + secrets.token_hex(12)
            self.pending[path] = (ticket, None, lambda data, name=name: run.stored.__setitem__(name, data))
            files.append({"name": name, "uploadUrl": self.url + path})
        return {"runID": run.id, "uploadHeaders": [f"X-Ticket:{ticket}"], "files": files}

    def createArtifact(self, input):
        name = input.get("artifactCollectionName") or (input.get("artifactCollectionNames") or [None])[0]
        p = self.find(input["entityName"], input["projectName"])
        if not p or not name:
            raise Wrong("project not found")
        if input.get("runName"):
            self.must_find(input["entityName"], input["projectName"], input["runName"])
        for key in ("clientID", "sequenceClientID"):
            if not re.fullmatch(r"[a-z0-9]{128}", input[key]):
                raise Wrong(f"{key} must have 128 characters of a-z0-9")
        if not re.fullmatch(r"[0-9a-f]{32}", input["digest"]):
            raise Wrong("digest must be hex MD5")
        for a in input.get("aliases") or []:
            if a["artifactCollectionName"] != name:
                raise Wrong("alias of another collection")
        coll = p.collections.setdefault(name, Collection(self, name))
        for v in coll.versions:
            if v.type != input["artifactTypeName"]:
                raise Wrong(f"artifact {name} already exists with type {v.type}")
            if v.digest == input["digest"] and input.get("enableDigestDeduplication"):
                for a in ["latest", *(x["alias"] for x in input.get("aliases") or [])]:
                    coll.aliases[a] = v
                return {"artifact": v}
        art = Artifact(coll, input["digest"], input)
        self.artifacts[art.id] = art
        return {"artifact": art}

    def pending_artifact(self, id):
        art = self.artifacts.get(id)
        if not art:
            raise Wrong("artifact not found")
        if art.state != "PENDING":
            raise Wrong("artifact is committed already")
        return art

    def createArtifactManifest(self, input):
        art = self.pending_artifact(input["artifactID"])
        if input["name"] != "wandb_manifest.json":
            raise Wrong("unexpected name of a manifest")
        id = b64("ArtifactManifest:" + secrets.token_hex(6))
        art.manifests[id] = input["digest"]
        url = headers = None
        if input["digest"]:
            url, headers = self.upload(input["digest"], lambda data: setattr(art, "manifest", data))
        return {"artifactManifest": {"id": id, "digest": input["digest"], "file": {"id": b64("f" + id), "uploadUrl": url, "uploadHeaders": headers}}}

    def createArtifactFiles(self, input):
        nodes = []
        if input.get("storageLayout") not in (None, "V2"):
            raise Wrong("unexpected layout")
        for spec in input["artifactFiles"]:
            art = self.pending_artifact(spec["artifactID"])
            if spec.get("artifactManifestID") is not None and spec["artifactManifestID"] not in art.manifests:
                raise Wrong("manifest not found")
            if len(base64.b64decode(spec["md5"])) != 16:
                raise Wrong("md5 must be base64")
            url, headers = self.upload(spec["md5"], lambda data, a=art, n=spec["name"]: a.contents.__setitem__(n, data))
            nodes.append({"id": b64(spec["name"]), "name": spec["name"], "displayName": spec["name"], "uploadUrl": url, "uploadHeaders": headers,
                          "uploadMultipartUrls": None, "storagePath": "wandb_artifacts/" + spec["name"], "artifact": art})
        return {"files": {"edges": [{"node": n, "cursor": str(k)} for k, n in enumerate(nodes)], "pageInfo": {"endCursor": None, "hasNextPage": False}}}

    def commitArtifact(self, input):
        art = self.artifacts.get(input["artifactID"])
        if not art:
            raise Wrong("artifact not found")
        art.commit()
        return {"artifact": art}

    # ---- file_stream ----

    def file_stream(self, entity, project, name, body):
        run = self.find(entity, project, name)
        if not run:
            raise LookupError(f"run {entity}/{project}/{name} not found")
        known = {"files", "uploaded", "preempting", "complete", "exitcode", "dropped", "operations"}
        if not isinstance(body, dict) or set(body) - known:
            raise ValueError("unknown member of a file_stream request")
        for path, chunk in (body.get("files") or {}).items():
            lines, offset, content = run.lines.setdefault(path, []), chunk.get("offset"), chunk.get("content")
            if not isinstance(offset, int) or offset < 0 or not isinstance(content, list) or any(not isinstance(x, str) for x in content):
                raise ValueError("offset and content are needed")
            if path == "wandb-summary.json":
                if len(content) != 1 or offset != 0 or not isinstance(json.loads(content[0]), dict):
                    raise ValueError("a summary is one line at 0")
                run.summaryMetrics = content[0]
            elif offset > len(lines):
                raise ValueError(f"offset {offset} is beyond the {len(lines)} lines of {path}")
            if path.endswith(".jsonl"):
                for line in content:
                    if not isinstance(json.loads(line), dict):
                        raise ValueError("a line is not an object")
            lines[offset:offset + len(content)] = content
        run.heartbeatAt = run.updatedAt = now_text()
        run.state = "running"
        if body.get("complete"):
            if not isinstance(body.get("exitcode"), int):
                raise ValueError("complete needs exitcode")
            run.exitcode = body["exitcode"]
            run.state = "failed" if run.exitcode else "finished"
        run.project.version += 1
        return {"stopped": False, "limits": {}}
