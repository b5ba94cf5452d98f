"""Two people see each other's changes, through real processes and the stock client."""

import pytest


async def test_two_people_a_room_and_a_message(world):
    alice, bob = await world.person("alice"), await world.person("bob")
    phone = await bob.socket()
    room = await alice.post("/api/rooms", {"otherUserId": bob.id, "name": "Kitchen"}, 201)
    told = (await phone.expect("room:created"))["room"]
    assert (told["id"], told["name"], told["displayName"]) == (room["id"], "Kitchen", "Kitchen")
    await phone.join(room)

    laptop = await alice.socket(joined=room)
    answer = await laptop.do("message:send", {"roomId": room["id"], "text": "hello", "tempId": "t1"})
    message = (await phone.expect("message:new"))["message"]
    assert message == answer["message"] | {"tempId": message["tempId"]}
    assert (message["seq"], message["text"], message["senderId"]) == (1, "hello", alice.id)
    assert await bob.get(f"/api/rooms/{room['id']}/messages") == [message]


async def test_the_echo_comes_before_the_ack(world):
    alice, _, room = await world.pair()
    laptop = await alice.socket(joined=room)
    for number in range(20):
        await laptop.do_noting_ack("message:send", {"roomId": room["id"], "text": f"{number}", "tempId": f"{number}"})
        await laptop.do_noting_ack("element:create", {"roomId": room["id"], "type": "note", "tempId": f"{number}"})
    while len(laptop.order("ack")) < 40:
        laptop.changed.clear()
        await laptop.changed.wait()
    seen = set()
    for name, data in laptop.heard:
        if name == "message:new":
            seen.add(data["message"]["id"])
        elif name == "element:created":
            seen.add(data["element"]["id"])
        elif name == "ack":
            assert data["success"] is True, data
            assert (data.get("messageId") or data["element"]["id"]) in seen


async def test_badges_rise_and_fall(world):
    alice, bob, room = await world.pair()
    phone = await bob.socket()
    messages = [await alice.send(room, text) for text in ("one", "two", "three")]
    await alice.post(f"/api/rooms/{room['id']}/elements", {"type": "note"}, 201)
    seen = await bob.view(room)
    assert seen["badges"] == {"messages": 3, "elements": 1} and seen["hasUnread"] is True
    assert (await alice.view(room))["badges"] == {"messages": 0, "elements": 0}

    await bob.post(f"/api/rooms/{room['id']}/messages/read", {"messageIds": [messages[0]["id"], messages[1]["id"]]})
    assert (await phone.expect("room:badges"))["badges"] == {"messages": 1, "elements": 1}
    joined = await phone.join(room)
    assert joined["badges"] == {"messages": 1, "elements": 0}
    assert (await phone.expect("room:badges"))["badges"] == {"messages": 1, "elements": 0}
    await alice.data("DELETE", f"/api/rooms/{room['id']}/messages/{messages[2]['id']}", status=204)
    assert (await phone.expect("room:badges"))["hasUnread"] is False


async def test_typing_starts_and_stops(world):
    alice, bob, room = await world.pair()
    laptop, phone = await alice.socket(joined=room), await bob.socket(joined=room)
    await laptop.do("message:typing", {"roomId": room["id"], "isTyping": True})
    assert await phone.expect("message:typing") == {"roomId": room["id"], "userId": alice.id, "isTyping": True}
    await laptop.do("message:send", {"roomId": room["id"], "text": "done"})
    assert (await phone.expect("message:typing"))["isTyping"] is False


async def test_typing_that_begins_behind_a_message_is_not_ended_by_it(world):
    alice, bob, room = await world.pair()
    laptop, phone = await alice.socket(joined=room), await bob.socket(joined=room)
    for number in range(20):
        await laptop.do_noting_ack("message:send", {"roomId": room["id"], "text": f"{number}"})
        await laptop.do_noting_ack("message:typing", {"roomId": room["id"], "isTyping": True})
        await phone.expect("message:new")
        assert (await phone.expect("message:typing"))["isTyping"] is True
        await laptop.do("message:typing", {"roomId": room["id"], "isTyping": False})
        assert (await phone.expect("message:typing"))["isTyping"] is False


async def test_leaving_a_room_that_was_not_joined_ends_typing_there(world):
    alice, bob, room = await world.pair()
    laptop, phone = await alice.socket(), await bob.socket(joined=room)
    await laptop.do("message:typing", {"roomId": room["id"], "isTyping": True})
    assert (await phone.expect("message:typing"))["isTyping"] is True
    await laptop.do("room:leave", {"roomId": room["id"]})
    # If typing went on, this would only prolong it.
    await laptop.do("message:typing", {"roomId": room["id"], "isTyping": True})
    assert [(await phone.expect("message:typing"))["isTyping"] for _ in range(2)] == [False, True]


@pytest.mark.parametrize("letter", ["x", "\u4e2d", "\U0001f389", '"', "\n.", "\u00ad\u0308"])
async def test_the_longest_message_is_shown_with_its_room(world, letter):
    alice, bob, room = await world.pair()
    await alice.send(room, "short")
    text = (letter * 4000)[:4000].strip()
    await alice.send(room, text)
    [listed] = await bob.get("/api/rooms/my-rooms?sort=messages")
    for shown in (await bob.view(room), listed):
        assert (shown["lastMessage"]["text"], shown["badges"]["messages"], shown["hasUnread"]) == (text, 2, True)
        assert shown["messagesUpdatedAt"] is not None and shown["lastActivityType"] == "message"


@pytest.mark.parametrize("path", ["/api/rooms/my-rooms", "/api/rooms/grouped-by-person"])
async def test_lists_that_are_whole_ignore_a_cursor(world, path):
    alice, bob, room = await world.pair()
    whole = await alice.get(path)
    for cursor in ("", "0", room["id"]):
        assert await alice.get(f"{path}?cursor={cursor}") == whole != []


async def test_elements_on_the_board(world):
    alice, bob, room = await world.pair()
    laptop, phone = await alice.socket(joined=room), await bob.socket(joined=room)
    made = (await laptop.do("element:create", {"roomId": room["id"], "type": "note", "content": {"a": [1, 2.50]}}))["element"]
    assert (await phone.expect("element:created"))["element"]["content"] == {"a": [1, 2.5]}
    await phone.do("element:update", {"roomId": room["id"], "elementId": made["id"], "position": {"x": 1, "y": 2}})
    assert (await laptop.expect("element:updated"))["element"]["version"] == 2
    refused = await laptop.ask(
        "element:update", {"roomId": room["id"], "elementId": made["id"], "position": None, "version": 1}
    )
    assert refused["error"]["code"] == "version_conflict"
    assert (await laptop.do("room:clear", {"roomId": room["id"]}))["deletedCount"] == 1
    assert await phone.expect("room:cleared") == {"roomId": room["id"], "clearedBy": alice.id}
    assert (await bob.view(room))["elementCount"] == 0


async def test_presence_is_seen_and_ends_with_the_socket(world):
    alice, bob, room = await world.pair()
    laptop = await alice.socket(joined=room)
    phone = await bob.socket(joined=room)
    assert await laptop.expect("room:presence", userId=bob.id) == {
        "roomId": room["id"], "userId": bob.id, "isPresent": True,
    }  # fmt: skip
    seen = await alice.view(room)
    assert seen["isActive"] and all(participant["isPresent"] for participant in seen["participants"])
    await phone.close()
    assert (await laptop.expect("room:presence", userId=bob.id))["isPresent"] is False


@pytest.mark.parametrize("transport", ["polling", "upgrade"])
async def test_other_ways_in(world, transport):
    alice, bob, room = await world.pair()
    phone = await bob.socket(joined=room, transport=transport)
    sent = [await alice.send(room, f"{number}") for number in range(30)]
    heard = [(await phone.expect("message:new"))["message"]["seq"] for _ in sent]
    assert heard == list(range(1, 31))
