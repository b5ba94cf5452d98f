import assert from "node:assert/strict";
import { test } from "node:test";
import { ClientFailure } from "../../Clients/Web/parlor/failure.js";
import { RoomStore } from "../../Clients/Web/parlor/room-store.js";
import { RoomsFetching } from "../../Clients/Web/parlor/rooms-fetching.js";
import { Clock } from "./support/clock.mjs";

test("an answer that lacks counts is requested again only after the time that the server asked for", async () => {
  const clock = new Clock();
  const answers = [
    () => true,
    () => { throw ClientFailure.refused("service_unavailable", "Wait.", { isRetryable: true, status: 503, retryAfter: 60_000 }); },
    () => false,
  ];
  const loads = [];
  const loadAll = async () => {
    loads.push(clock.now());
    return answers.shift()();
  };
  const platform = { ...clock, now: clock.now, random: () => 0.5 };
  const fetching = new RoomsFetching(platform, new RoomStore(clock.now), { loadAll, loadOne: async () => {}, onChange: () => {} });
  await fetching.refresh();
  await clock.advance(200_000);
  assert.deepEqual(loads.slice(1).map((at, index) => at - loads[index]), [500, 60_000]);
});
