"""Notes, a service that deploy/new-service has made, in a whole Parlor. deploy/test-new-service makes it and runs this
file. The file is not named test_*.py, because other runs of the tests have no such service."""

from people import eventually


async def test_a_new_service_has_its_routes_its_events_and_its_tables(parlor, world):
    alice, bob, room = await world.pair()
    eve = await world.person("eve")
    path = f"/api/rooms/{room['id']}/notes"

    # A gateway serves without the services that it does not require.
    async def is_known():
        return (await alice.request("GET", path)).status_code == 200

    await eventually(is_known)
    laptop, phone = await alice.socket(joined=room), await bob.socket(joined=room)
    first = await alice.post(path, {"text": "one"}, 201)
    assert await phone.expect("notes:added", item=first) == {"roomId": room["id"], "item": first}
    acked = await laptop.do("notes:add", {"roomId": room["id"], "text": "two"})
    assert await phone.expect("notes:added", item=acked["item"])
    assert await bob.get(path) == [first, acked["item"]] and first["createdBy"] == alice.id
    answer = await eve.request("GET", path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "room_not_found")
