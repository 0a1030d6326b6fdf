#!/usr/bin/python3
"""The stand-in for W&B itself: it must refuse what W&B refuses, or the tests against it prove nothing."""
import base64
import hashlib
import http.client
import json
import urllib.parse

import lib
import wandb_world
from wandb_standin import KEY, Standin

RUNS = """query Runs($project:String!,$entity:String!,$cursor:String,$perPage:Int=50,$order:String,$filters:JSONString){
 project(name:$project,entityName:$entity){ internalId runCount(filters:$filters) readOnly
  runs(filters:$filters,after:$cursor,first:$perPage,order:$order){ edges{cursor node{ id name displayName state tags group jobType host createdAt heartbeatAt
   updatedAt config summaryMetrics systemMetrics historyLineCount user{name username} runInfo{gpu gpuCount} }} pageInfo{endCursor hasNextPage}}}}"""
UPSERT = """mutation UpsertBucket($id:String,$name:String,$project:String,$entity:String,$tags:[String!],$config:JSONString,$displayName:String){
 upsertBucket(input:{id:$id,name:$name,modelName:$project,entityName:$entity,tags:$tags,config:$config,displayName:$displayName}){
  bucket{id name displayName project{id name entity{id name}} historyLineCount} inserted}}"""
CREATE = """mutation CreateArtifact($input:CreateArtifactInput!){createArtifact(input:$input){artifact{id state artifactSequence{latestArtifact{id}}}}}"""
MANIFEST = """mutation CreateArtifactManifest($artifactID:ID!,$baseArtifactID:ID,$name:String!,$digest:String!,$entityName:String!,$projectName:String!,$runName:String!,
 $manifestType:ArtifactManifestType!,$includeUpload:Boolean!){createArtifactManifest(input:{artifactID:$artifactID,baseArtifactID:$baseArtifactID,name:$name,digest:$digest,
 entityName:$entityName,projectName:$projectName,runName:$runName,type:$manifestType}){artifactManifest{id file{id uploadUrl @include(if:$includeUpload) uploadHeaders @include(if:$includeUpload)}}}}"""
FILES = """mutation CreateArtifactFiles($input:CreateArtifactFilesInput!){createArtifactFiles(input:$input){files{edges{node{storagePath uploadUrl uploadHeaders
 uploadMultipartUrls{uploadID uploadUrlParts{partNumber uploadUrl}} artifact{id}}}}}}"""


class Client:
    """As plain as can be; what the tests of muster are not to share."""

    def __init__(self, s, key=KEY):
        self.s, self.auth = s, {"Authorization": "Basic " + base64.b64encode(b"api:" + key.encode()).decode()}

    def http(self, method, url, body=None, headers=None):
        u = urllib.parse.urlsplit(url)
        c = http.client.HTTPConnection("127.0.0.1", self.s.port, timeout=lib.LIMIT_S)
        try:
            c.request(method, u.path, body, headers if headers is not None else self.auth)
            r = c.getresponse()
            return r.status, r.read(), dict(r.getheaders())
        finally:
            c.close()

    def ask(self, query, status=200, **variables):
        got, body, self.headers = self.http("POST", "/graphql", json.dumps({"query": query, "variables": variables}), {**self.auth, "Content-Type": "application/json"})
        assert got == status, (got, body)
        return json.loads(body)

    def put(self, url, headers, data):
        return self.http("PUT", url, data, dict(h.split(":", 1) for h in headers))[0]


class StandinTest(lib.Case):
    def setUp(self):
        super().setUp()
        self.world = wandb_world.World()
        self.project = self.world.add_project("team", "proj")
        for k in range(120):
            self.project.add(wandb_world.Run(self.project, f"run{k:05d}", createdAt=f"2025-01-{1 + k % 28:02d}T00:00:{k % 60:02d}Z", heartbeatAt="2025-02-01T00:00:00Z",
                                             state="finished", tags=["latest"] if k % 10 == 0 else []))

    def serve(self, **kw):
        s = Standin(self.world, **kw)
        s.__enter__()
        self.addCleanup(s.__exit__)
        return s, Client(s)

    def test_a_wrong_key_is_refused(self):
        s, _ = self.serve()
        for client in (Client(s, "nope"), Client(s, "")):
            self.assertIn("errors", client.ask(RUNS, 401, project="proj", entity="team"))
        self.assertEqual(s.refused, 2)

    def test_shapes_of_questions_are_checked(self):
        s, c = self.serve()
        bad = [("{project(name:\"a\"){gpu}}", {}), (RUNS, {"project": "proj"}), (RUNS, {"project": 1, "entity": "team"}), (RUNS, {"project": "p", "entity": "team", "filters": {"a": 1}}),
               (RUNS, {"project": "p", "entity": "t", "more": 1}), ("query(", {}), ("{viewer}", {}), ("query($a:Int){viewer{id}}", {"a": 1}),
               ("query($e:String){project(name:\"p\",entityName:$e){run(name:$e){id}}}", {"e": "x"}), (CREATE, {"input": {"entityName": "team"}})]
        for query, variables in bad:
            self.assertIn("message", c.ask(query, 400, **variables)["errors"][0], query)
        self.assertEqual(len(s.wrong), len(bad))
        self.assertIsNone(c.ask(RUNS, project="other", entity="team")["data"]["project"])

    def test_pages_cover_every_run_once(self):
        _, c = self.serve()
        for size in (1, 7, 50, 119, 120, 1000):
            seen, cursor = [], None
            while True:
                runs = c.ask(RUNS, project="proj", entity="team", cursor=cursor, perPage=size, filters="{}")["data"]["project"]["runs"]
                seen += [e["node"]["name"] for e in runs["edges"]]
                cursor = runs["pageInfo"]["endCursor"]
                if not runs["pageInfo"]["hasNextPage"]:
                    break
            self.assertEqual((len(seen), len(set(seen))), (120, 120))
        self.assertIn("errors", c.ask(RUNS, project="proj", entity="team", perPage=1001))
        got = c.ask(RUNS, project="proj", entity="team", filters='{"tags":{"$in":["latest"]},"createdAt":{"$lt":"2025-01-15"}}', perPage=1000)["data"]["project"]
        self.assertEqual(got["runCount"], sum(1 for k in range(0, 120, 10) if k % 28 < 14))

    def test_the_limit_is_told_and_kept(self):
        s, c = self.serve(limit=(3, 30))
        left = []
        for _ in range(3):
            c.ask("{viewer{id}}")
            left.append(c.headers["RateLimit-Remaining"])
        self.assertEqual(left, ["2", "1", "0"])
        self.assertEqual(s.over, 0)
        c.ask("{viewer{id}}", 429)
        self.assertEqual((s.over, 1 <= int(c.headers["Retry-After"]) <= 30), (1, True))

    def test_each_fault_does_what_it_says(self):
        s, c = self.serve()
        ask = lambda status=200: c.ask(RUNS, status, project="proj", entity="team", perPage=5)
        for kind, look in (("errors", lambda g: g["errors"][0]["message"]), ("errors_text", lambda g: g["errors"][0]), ("error_text", lambda g: g["error"]),
                           ("error_object", lambda g: g["error"]["message"])):
            s.fault(kind, op="runs", status=503, message="told you")
            self.assertEqual(look(ask(503)), "told you")
            self.assertIn("data", ask())
        s.fault("null_project", op="runs")
        self.assertIsNone(ask()["data"]["project"])
        s.fault("partial", op="runs", path=("project", "runs", "edges", 2, "node"))
        got = ask()
        self.assertIsNone(got["data"]["project"]["runs"]["edges"][2]["node"])
        self.assertTrue(got["errors"])
        for kind in ("reset", "close", "truncate", "garbage"):
            s.fault(kind, op="runs")
            with self.assertRaises((OSError, http.client.HTTPException)):
                ask()
        s.fault("status", op="runs", status=429, retry_after=7, times=1)
        s.fault("status", op="runs", status=502, where={"project": "else"})
        self.assertEqual(self.status(c, "runs"), (429, "7"))
        ask()

    def status(self, c, _):
        got, _, headers = c.http("POST", "/graphql", json.dumps({"query": RUNS, "variables": {"project": "proj", "entity": "team"}}), {**c.auth, "Content-Type": "application/json"})
        return got, headers.get("Retry-After")

    def test_a_run_its_lines_and_files_are_kept(self):
        _, c = self.serve()
        got = c.ask(UPSERT, name="abc12345", project="dash", entity="team", tags=["a", "latest"], displayName="Tables_2025-01-01")["data"]["upsertBucket"]
        self.assertTrue(got["inserted"])
        stream = "/files/team/dash/abc12345/file_stream"
        post = lambda body: c.http("POST", stream, json.dumps(body), {**c.auth, "Content-Type": "application/json"})[0]
        lines = {"files": {"wandb-history.jsonl": {"offset": 0, "content": ['{"_step":0}', '{"_step":1}']}, "wandb-summary.json": {"offset": 0, "content": ['{"x":1}']}}}
        self.assertEqual([post(lines), post(lines), post({"files": {"wandb-history.jsonl": {"offset": 9, "content": ["{}"]}}}), post({"complete": True, "exitcode": 0})], [200, 200, 400, 200])
        run = self.world.find("team", "dash", "abc12345")
        self.assertEqual((run.historyLineCount, run.summaryMetrics, run.state), (2, '{"x":1}', "finished"))
        self.assertFalse(c.ask(UPSERT, id=got["bucket"]["id"], tags=["a"], config="{}")["data"]["upsertBucket"]["inserted"])
        self.assertEqual(run.tags, ["a"])
        made = c.ask("mutation CreateRunFiles($e:String!,$p:String!,$r:String!,$f:[String!]!){createRunFiles(input:{entityName:$e,projectName:$p,runName:$r,files:$f}){runID uploadHeaders files{name uploadUrl}}}",
                     e="team", p="dash", r="abc12345", f=["media/t.json"])["data"]["createRunFiles"]
        self.assertEqual(c.put(made["files"][0]["uploadUrl"], [], b"x"), 400)
        self.assertEqual(c.put(made["files"][0]["uploadUrl"], made["uploadHeaders"], b"{}"), 200)
        self.assertEqual(c.http("GET", "/files/team/dash/abc12345/media/t.json")[:2], (200, b"{}"))
        self.assertEqual(c.http("GET", "/files/team/dash/abc12345/media/t.json", headers={})[0], 401)

    def test_an_artifact_must_be_right_in_every_digest(self):
        _, c = self.serve()
        c.ask(UPSERT, name="abc12345", project="dash", entity="team")
        data = b"date,company\n"
        md5 = base64.b64encode(hashlib.md5(data).digest()).decode()
        digest = hashlib.md5(f"wandb-artifact-manifest-v1\ndata.csv:{md5}\n".encode()).hexdigest()
        made = {"entityName": "team", "projectName": "dash", "artifactTypeName": "dataset", "artifactCollectionName": "all", "runName": "abc12345", "digest": digest,
                "digestAlgorithm": "MANIFEST_MD5", "enableDigestDeduplication": True, "clientID": "a" * 128, "sequenceClientID": "b" * 128}
        art = c.ask(CREATE, input=made)["data"]["createArtifact"]["artifact"]
        self.assertEqual(art["state"], "PENDING")
        common = {"artifactID": art["id"], "name": "wandb_manifest.json", "entityName": "team", "projectName": "dash", "runName": "abc12345", "manifestType": "FULL"}
        manifest = c.ask(MANIFEST, **common, digest="", includeUpload=False)["data"]["createArtifactManifest"]["artifactManifest"]
        self.assertNotIn("uploadUrl", manifest["file"])
        node = c.ask(FILES, input={"artifactFiles": [{"artifactID": art["id"], "name": "data.csv", "md5": md5, "artifactManifestID": manifest["id"]}], "storageLayout": "V2"}
                     )["data"]["createArtifactFiles"]["files"]["edges"][0]["node"]
        self.assertEqual([c.put(node["uploadUrl"], node["uploadHeaders"], d) for d in (b"other", data)], [400, 200])
        commit = lambda: c.ask("mutation CommitArtifact($artifactID:ID!){commitArtifact(input:{artifactID:$artifactID}){artifact{id digest}}}", artifactID=art["id"])
        self.assertIn("no manifest", commit()["errors"][0]["message"])
        for size, right in ((1, False), (len(data), True)):
            text = json.dumps({"version": 1, "storagePolicy": "wandb-storage-policy-v1", "storagePolicyConfig": {"storageLayout": "V2"},
                               "contents": {"data.csv": {"digest": md5, "size": size, "birthArtifactID": art["id"], "skip_cache": False}}}).encode()
            up = c.ask(MANIFEST, **common, digest=base64.b64encode(hashlib.md5(text).digest()).decode(), includeUpload=True)["data"]["createArtifactManifest"]["artifactManifest"]["file"]
            self.assertEqual(c.put(up["uploadUrl"], up["uploadHeaders"], text), 200)
            self.assertEqual("errors" not in commit(), right)
        name = "query($p:String!,$e:String!,$n:String!){project(name:$p,entityName:$e){artifact(name:$n){id}}}"
        self.assertEqual(c.ask(name, p="dash", e="team", n="all:latest")["data"]["project"]["artifact"]["id"], art["id"])
        self.assertIsNone(c.ask(name, p="dash", e="team", n="all:v1")["data"]["project"]["artifact"])
        files = c.ask("query($id:ID!){artifact(id:$id){files(first:10){pageInfo{hasNextPage endCursor} edges{node{name directUrl}}}}}", id=art["id"])["data"]["artifact"]["files"]
        self.assertEqual(c.http("GET", files["edges"][0]["node"]["directUrl"])[1], data)
        self.assertEqual(c.ask(CREATE, input=made)["data"]["createArtifact"]["artifact"]["state"], "COMMITTED")


if __name__ == "__main__":
    lib.main()
