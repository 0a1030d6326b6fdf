"""As much GraphQL as W&B's clients use: documents are checked against a schema (fields, arguments, types, variables), then carried out.

`Schema(text)` reads type and input definitions; `schema.plan(query)` gives a Plan or raises Wrong with the sentence a server would say;
`plan.run(root, variables)` walks Python objects: a field is an attribute, or a method when it takes arguments or has to be worked out.
"""
import json
import re

TOKEN = re.compile(r'[\s,]+|#[^\n]*|(?P<block>"""(?:[^"\\]|\\.|"(?!""))*""")|(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)'
                   r'|(?P<name>[_A-Za-z][_0-9A-Za-z]*)|(?P<mark>\.\.\.|[!$()\[\]{}:=|@&])')


class Wrong(Exception):
    """What is wrong with a request, in the words of the answer."""


class Reader:
    def __init__(self, text):
        self.tokens, at = [], 0
        while at < len(text):
            m = TOKEN.match(text, at)
            if not m:
                raise Wrong(f"Syntax Error: Unexpected character {text[at]!r}.")
            at = m.end()
            if m.lastgroup:
                self.tokens.append((m.lastgroup, m.group()))
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "<EOF>")

    def take(self, text=None, kind=None):
        got = self.peek()
        if (text is not None and got[1] != text) or (kind is not None and got[0] != kind):
            raise Wrong(f"Syntax Error: Expected {text or kind}, found {got[1]}.")
        self.at += 1
        return got[1]

    def maybe(self, text):
        if self.peek()[1] == text and self.peek()[0] in ("mark", "name"):
            self.at += 1
            return True
        return False

    def type(self):
        if self.maybe("["):
            inner = self.type()
            self.take("]")
            t = ("list", inner)
        else:
            t = ("named", self.take(kind="name"))
        return ("must", t) if self.maybe("!") else t

    def value(self):
        """A literal as ("const", v), ("var", name), ("list", [..]), ("object", {..}); enum values are constants, too."""
        kind, text = self.peek()
        if self.maybe("$"):
            return ("var", self.take(kind="name"))
        if self.maybe("["):
            items = []
            while not self.maybe("]"):
                items.append(self.value())
            return ("list", items)
        if self.maybe("{"):
            fields = {}
            while not self.maybe("}"):
                name = self.take(kind="name")
                self.take(":")
                fields[name] = self.value()
            return ("object", fields)
        self.at += 1
        if kind == "text":
            return ("const", json.loads(text))
        if kind == "number":
            return ("const", json.loads(text))
        if kind == "name":
            return ("const", {"true": True, "false": False, "null": None}.get(text, text))
        raise Wrong(f"Syntax Error: Unexpected {text}.")

    def arguments(self):
        got = {}
        if self.maybe("("):
            while not self.maybe(")"):
                name = self.take(kind="name")
                self.take(":")
                got[name] = self.value()
        return got

    def directives(self):
        got = []
        while self.maybe("@"):
            got.append((self.take(kind="name"), self.arguments()))
        return got

    def selection(self):
        self.take("{")
        got = []
        while not self.maybe("}"):
            if self.maybe("..."):
                if self.maybe("on"):
                    self.take(kind="name")
                    got.append(("inline", self.selection()))
                elif self.peek()[1] == "{":
                    got.append(("inline", self.selection()))
                else:
                    got.append(("spread", self.take(kind="name")))
                continue
            name = key = self.take(kind="name")
            if self.maybe(":"):
                name = self.take(kind="name")
            args, marks = self.arguments(), self.directives()
            got.append(("field", key, name, args, marks, self.selection() if self.peek()[1] == "{" else None))
        if not got:
            raise Wrong("Syntax Error: Expected Name, found }.")
        return got


def type_text(t):
    return f"[{type_text(t[1])}]" if t[0] == "list" else type_text(t[1]) + "!" if t[0] == "must" else t[1]


def bare(t):
    while t[0] != "named":
        t = t[1]
    return t[1]


SCALARS = {"String": str, "ID": str, "JSONString": str, "Duration": (int, float), "Int": int, "Int64": int, "Float": (int, float), "Boolean": bool, "DateTime": str, "JSON": object}


class Schema:
    def __init__(self, text):
        self.types, self.inputs, self.enums, self.plans = {}, {}, {}, {}
        r = Reader(text)
        while r.peek()[0] != "end":
            what, name = r.take(kind="name"), r.take(kind="name")
            r.take("{")
            if what == "enum":
                self.enums[name] = set()
                while not r.maybe("}"):
                    self.enums[name].add(r.take(kind="name"))
                continue
            fields = {}
            while not r.maybe("}"):
                field, args = r.take(kind="name"), {}
                if r.maybe("("):
                    while not r.maybe(")"):
                        arg = r.take(kind="name")
                        r.take(":")
                        args[arg] = r.type()
                r.take(":")
                fields[field] = (args, r.type())
            (self.types if what == "type" else self.inputs)[name] = fields

    def plan(self, query):
        if query not in self.plans:
            if len(self.plans) > 1000:
                self.plans.clear()
            try:
                self.plans[query] = Plan(self, query)
            except Wrong as wrong:
                self.plans[query] = wrong
        got = self.plans[query]
        if isinstance(got, Wrong):
            raise got
        return got

    def check(self, value, t, where):
        """A value that came in a variable or as a literal, against a type."""
        if t[0] == "must":
            if value is None:
                raise Wrong(f'{where} of required type "{type_text(t)}" was not provided.')
            t = t[1]
        if value is None:
            return
        if t[0] == "list":
            for item in value if isinstance(value, list) else [value]:
                self.check(item, t[1], where)
            return
        name = t[1]
        if name in self.enums:
            if value not in self.enums[name]:
                raise Wrong(f'{where} got invalid value {json.dumps(value)}; Value does not exist in "{name}" enum.')
        elif name in self.inputs:
            if not isinstance(value, dict):
                raise Wrong(f'{where} got invalid value; Expected type "{name}" to be an object.')
            for key in value:
                if key not in self.inputs[name]:
                    raise Wrong(f'{where} got invalid value; Field "{key}" is not defined by type "{name}".')
            for key, (_, inner) in self.inputs[name].items():
                self.check(value.get(key), inner, f"Field {name}.{key}")
        elif name in SCALARS:
            right = SCALARS[name]
            if not isinstance(value, right) or (isinstance(value, bool) and right not in (bool, object)):
                raise Wrong(f'{where} got invalid value {json.dumps(value)[:60]}; {name} cannot represent it.')
            if name == "JSONString":
                try:
                    json.loads(value)
                except ValueError:
                    raise Wrong(f"{where} is not JSON text") from None
        else:
            raise Wrong(f'Unknown type "{name}".')


class Plan:
    def __init__(self, schema, query):
        self.schema, self.fragments, self.variables, operation = schema, {}, {}, None
        r = Reader(query)
        while r.peek()[0] != "end":
            if r.maybe("fragment"):
                name = r.take(kind="name")
                r.take("on")
                on = r.take(kind="name")
                if on not in schema.types:
                    raise Wrong(f'Unknown type "{on}".')
                self.fragments[name] = r.selection()
                continue
            if operation:
                raise Wrong("Must provide operation name if query contains multiple operations.")
            self.kind, self.name = "query", None
            if r.peek()[1] != "{":
                self.kind = r.take(kind="name")
                if self.kind not in ("query", "mutation"):
                    raise Wrong(f'Syntax Error: Unexpected Name "{self.kind}".')
                if r.peek()[0] == "name":
                    self.name = r.take(kind="name")
                if r.maybe("("):
                    while not r.maybe(")"):
                        r.take("$")
                        name = r.take(kind="name")
                        r.take(":")
                        t = r.type()
                        default = r.value() if r.maybe("=") else None
                        if not (bare(t) in SCALARS or bare(t) in schema.inputs or bare(t) in schema.enums):
                            raise Wrong(f'Unknown type "{bare(t)}".')
                        self.variables[name] = (t, default)
            operation = r.selection()
        if not operation:
            raise Wrong("Must provide an operation.")
        self.used = set()
        self.fields = self.compile(operation, "Query" if self.kind == "query" else "Mutation", 0)
        for name in self.variables:
            if name not in self.used:
                raise Wrong(f'Variable "${name}" is never used.')

    def top(self):
        """The names of what is asked at the top and one below: enough to tell operations apart."""
        return [name for _, name, *_ in self.fields]

    def compile(self, selection, type_name, depth):
        if depth > 20:
            raise Wrong("Query is too deep.")
        got = []
        for item in selection:
            if item[0] == "inline":
                got += self.compile(item[1], type_name, depth + 1)
                continue
            if item[0] == "spread":
                if item[1] not in self.fragments:
                    raise Wrong(f'Unknown fragment "{item[1]}".')
                got += self.compile(self.fragments[item[1]], type_name, depth + 1)
                continue
            _, key, name, args, marks, inner = item
            if name == "__typename":
                got.append((key, name, {}, None, None, type_name))
                continue
            if name not in self.schema.types[type_name]:
                raise Wrong(f'Cannot query field "{name}" on type "{type_name}".')
            known, result = self.schema.types[type_name][name]
            for arg, value in args.items():
                if arg not in known:
                    raise Wrong(f'Unknown argument "{arg}" on field "{name}" of type "{type_name}".')
                self.fits(value, known[arg], f'Argument "{arg}"')
            for arg, t in known.items():
                if t[0] == "must" and arg not in args:
                    raise Wrong(f'Field "{name}" argument "{arg}" of type "{type_text(t)}" is required but not provided.')
            include = None
            for mark, given in marks:
                if mark not in ("include", "skip") or list(given) != ["if"]:
                    raise Wrong(f'Unknown directive "{mark}".')
                self.fits(given["if"], ("must", ("named", "Boolean")), "if")
                include = (mark == "include", given["if"])
            below = bare(result)
            if below in self.schema.types:
                if inner is None:
                    raise Wrong(f'Field "{name}" of type "{type_text(result)}" must have a selection of subfields.')
                sub = self.compile(inner, below, depth + 1)
            else:
                if inner is not None:
                    raise Wrong(f'Field "{name}" must not have a selection since type "{type_text(result)}" has no subfields.')
                sub = None
            got.append((key, name, args, sub, include, type_name))
        return got

    def fits(self, value, t, where):
        """Literals in the document, and the declared types of variables, against the type of the place they stand at."""
        kind, v = value
        if kind == "var":
            if v not in self.variables:
                raise Wrong(f'Variable "${v}" is not defined.')
            self.used.add(v)
            have, default = self.variables[v]
            if default is not None and have[0] != "must":
                have = ("must", have)
            if not self.assignable(have, t):
                raise Wrong(f'Variable "${v}" of type "{type_text(self.variables[v][0])}" used in position expecting type "{type_text(t)}".')
        elif kind == "list":
            inner = t[1] if t[0] == "must" else t
            for item in v:
                self.fits(item, inner[1] if inner[0] == "list" else inner, where)
        elif kind == "object":
            name = bare(t)
            if name not in self.schema.inputs:
                raise Wrong(f"{where} has invalid value.")
            fields = self.schema.inputs[name]
            for key, inner in v.items():
                if key not in fields:
                    raise Wrong(f'Field "{key}" is not defined by type "{name}".')
                self.fits(inner, fields[key][1], f"Field {name}.{key}")
            for key, (_, inner) in fields.items():
                if inner[0] == "must" and key not in v:
                    raise Wrong(f'Field {name}.{key} of required type "{type_text(inner)}" was not provided.')
        else:
            self.schema.check(v, t, where)

    def assignable(self, have, want):
        if want[0] == "must":
            return have[0] == "must" and self.assignable(have[1], want[1])
        if have[0] == "must":
            return self.assignable(have[1], want)
        if have[0] == "list" or want[0] == "list":
            return have[0] == want[0] and self.assignable(have[1], want[1])
        return have[1] == want[1]

    def values(self, given):
        """The variables of one request, defaults filled in."""
        if not isinstance(given, dict):
            raise Wrong("Variables are invalid JSON.")
        got = {}
        for name, (t, default) in self.variables.items():
            if name in given:
                got[name] = given[name]
            elif default is not None:
                got[name] = default[1]
            else:
                got[name] = None
            self.schema.check(got[name], t, f'Variable "${name}"')
        for name in given:
            if name not in self.variables:
                raise Wrong(f'Variable "${name}" is not defined by the operation.')
        return got

    def run(self, root, given):
        """The data; errors of resolvers (Wrong) end up in .errors with their path, and null in their place."""
        self.errors = []
        return self.walk(root, self.fields, self.values(given), [])

    def literal(self, value, variables):
        kind, v = value
        if kind == "var":
            return variables[v]
        if kind == "list":
            return [self.literal(item, variables) for item in v]
        if kind == "object":
            return {key: self.literal(item, variables) for key, item in v.items()}
        return v

    def walk(self, obj, fields, variables, path):
        out = {}
        for key, name, args, sub, include, type_name in fields:
            if include and bool(self.literal(include[1], variables)) != include[0]:
                continue
            if name == "__typename":
                out[key] = type_name
                continue
            v = obj.get(name) if type(obj) is dict else getattr(obj, name)
            if callable(v):
                try:
                    v = v(**{k: self.literal(a, variables) for k, a in args.items()})
                except Wrong as wrong:
                    self.errors.append({"message": str(wrong), "path": path + [key]})
                    v = None
            if sub is not None and v is not None:
                if type(v) is list:
                    v = [None if item is None else self.walk(item, sub, variables, path) for item in v]
                else:
                    v = self.walk(v, sub, variables, path + [key])
            out[key] = v
        return out
