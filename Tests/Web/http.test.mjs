import assert from "node:assert/strict";
import { test } from "node:test";
import { Caller } from "../../Clients/Web/parlor/http.js";
import { browserPlatform } from "../../Clients/Web/parlor/parlor.js";

function answering(text, status = 200) {
  return new Caller(browserPlatform({ fetch: async () => new Response(text, { status }) }), "http://x");
}

test("an answer that is not the contract's is offline, whatever JSON it is", async () => {
  for (const status of [200, 400, 500]) {
    for (const text of ["true", "7", '"data"', "null", "[]", "{}", '{"error":"x"}', '{"error":null}', "<html>", ""]) {
      await assert.rejects(answering(text, status).call("GET", "/x"), { name: "ClientFailure", kind: "offline", isRetryable: true }, `${status} ${text}`);
    }
  }
});

test("an answer with data is returned, also if the data is null or false", async () => {
  for (const data of [null, false, 0, [], {}]) {
    assert.deepEqual(await answering(JSON.stringify({ data })).call("GET", "/x"), { data });
  }
});
