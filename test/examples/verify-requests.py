"""Judges requests with the code of the Python example. Reads a JSON list of cases, writes a JSON list of booleans."""
import base64, json, sys

sys.path.insert(0, sys.argv[1])
import consumer

cases = json.load(sys.stdin)
verdicts = [
    consumer.verify(case["secret"], case["headers"], base64.b64decode(case["body"]), case["now"]) for case in cases
]
json.dump(verdicts, sys.stdout)
