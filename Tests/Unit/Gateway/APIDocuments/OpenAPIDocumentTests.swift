import ParlorContracts
import ParlorJSON
import Testing

@testable import ParlorAPIDocuments
@testable import ParlorGatewayCatalog
@testable import ParlorRoomViews

@Suite("openapi.json")
struct OpenAPIDocumentTests {
    /// Composes the document of these services. `rooms` is the only required one.
    static func contents(
        _ manifests: [Manifest], _ descriptions: [String: ServiceDescription] = [:]
    ) -> APIContents {
        let own = OwnAPI(
            Manifest(service: "gateway", routes: [Route("GET", "/healthz", "gateway.healthz", needsLogin: false)]),
            ServiceDescription(requests: ["gateway.healthz": RequestDescription("Is it up?", gives: .object())]),
            forms: ["gateway.healthz": .bare(.object(["status": .string]))], room: ComposedRoom.schema(of:))
        let catalog = manifests.reduce(Catalog(required: ["rooms"])) { $0.adding($1) }
        return APIContents(catalog, descriptions, own: own)
    }

    private func document(
        _ manifests: Manifest..., described: [String: ServiceDescription] = [:]
    ) throws -> JSONValue {
        let json = OpenAPIDocument(Self.contents(manifests, described)).json
        return try JSONValue(parsing: Array(json.bytes))
    }

    private static let dice = Manifest(
        service: "dice",
        routes: [
            Route("GET", "/api/rooms/:roomId/dice", "dice.list", limits: ["rolls"]),
            Route("POST", "/api/rooms/:roomId/dice", "dice.roll", maxBodyBytes: 4096),
            Route("GET", "/api/dice", "dice.rules", needsLogin: false),
        ])
    private static let roll = Schema.named("Roll", .object(["face": .integer(1...6)]))
    private static let description = ServiceDescription(requests: [
        "dice.list": RequestDescription(
            "Lists rolls.", takes: .object(["roomId": .id], optional: ["limit": .integer]), gives: .array(of: roll),
            isPaged: true, errors: [.roomNotFound]),
        "dice.roll": RequestDescription(
            "Rolls.", takes: .object(["roomId": .id, "dice": .integer]), gives: roll, statuses: [.created, .ok],
            errors: [.roomNotFound, ErrorCode(ownName: "no_dice", status: 404)].compactMap(\.self)),
    ])

    @Test("a service that describes nothing is listed with methods, paths, login, limits and the envelope")
    func undescribed() throws {
        let paths = try #require(try document(Self.dice)["paths"])
        let list = try #require(paths["/api/rooms/{roomId}/dice"]?["get"])
        #expect(list["security"]?.text == #"[{"token":[]}]"# && list["x-limits"]?.text == #"["rolls"]"#)
        #expect(list["parameters"]?.array?.map { $0["name"]?.string } == ["roomId"])
        let answer = try #require(list["responses"]?["2XX"]?["content"]?["application/json"]?["schema"])
        #expect(answer["required"]?.text == #"["data"]"# && answer["properties"]?["data"]?.text == "{}")
        let roll = try #require(paths["/api/rooms/{roomId}/dice"]?["post"]?["requestBody"])
        #expect(roll["x-max-bytes"]?.int == 4096)
        let rules = try #require(paths["/api/dice"]?["get"])
        #expect(rules["security"] == nil && rules["responses"]?["401"] == nil)
    }

    @Test("a member is a parameter of the path, of the query or of the body, as the route takes it")
    func parameters() throws {
        let paths = try #require(try document(Self.dice, described: ["dice": Self.description])["paths"])
        let item = try #require(paths["/api/rooms/{roomId}/dice"])
        let list = item["get"]?["parameters"]?.array?.map {
            [$0["name"]?.string, $0["in"]?.string, $0["required"]?.text]
        }
        #expect(list == [["roomId", "path", "true"], ["limit", "query", "false"]])
        #expect(item["post"]?["parameters"]?.array?.count == 1)
        let body = item["post"]?["requestBody"]?["content"]?["application/json"]?["schema"]
        #expect(body?.text == #"{"type":"object","properties":{"dice":{"type":"integer"}},"required":["dice"]}"#)
    }

    @Test("a response has the data in the envelope, each status of success, and its errors' codes")
    func responses() throws {
        let item = try #require(
            try document(Self.dice, described: ["dice": Self.description])["paths"]?["/api/rooms/{roomId}/dice"])
        let page = item["get"]?["responses"]?["200"]?["content"]?["application/json"]?["schema"]
        #expect(page?["properties"]?["data"]?["items"]?["$ref"]?.string == "#/components/schemas/dice.Roll")
        #expect(page?["required"]?.text == #"["data","page"]"#)
        let roll = try #require(item["post"]?["responses"])
        #expect(roll["201"] != nil && roll["200"] != nil && roll["204"] == nil)
        #expect(roll["401"]?["$ref"]?.string == "#/components/responses/unauthenticated")
        let codes = roll["404"]?["content"]?["application/json"]?["schema"]?["allOf"]?.array?.last?["properties"]
        #expect(
            codes?["error"]?["properties"]?["code"]?["enum"]?.text == #"["room_not_found","no_dice"]"#)
    }

    @Test("a required service's schemas have their own names, another's begin with its name")
    func names() throws {
        let person = Schema.named("Person", .object(["id": .id]))
        func describing(_ service: String, _ schema: Schema) -> (Manifest, ServiceDescription) {
            let manifest = Manifest(service: service, routes: [Route("GET", "/api/\(service)", "\(service).get")])
            return (
                manifest, ServiceDescription(requests: ["\(service).get": RequestDescription("Gets.", gives: schema)])
            )
        }
        let (rooms, dice) = (
            describing("rooms", person), describing("dice", Schema.named("Person", .object(["x": .id])))
        )
        let (chess, clock) = (describing("chess", .reference("Person")), describing("clock", .reference("Hour")))
        let all = try document(
            rooms.0, dice.0, chess.0, clock.0,
            described: ["rooms": rooms.1, "dice": dice.1, "chess": chess.1, "clock": clock.1])
        func data(_ service: String) -> JSONValue? {
            all["paths"]?["/api/\(service)"]?["get"]?["responses"]?["200"]?["content"]?["application/json"]?["schema"]?[
                "properties"]?[
                    "data"]
        }
        #expect(data("rooms")?["$ref"]?.string == "#/components/schemas/Person")
        #expect(data("dice")?["$ref"]?.string == "#/components/schemas/dice.Person")
        #expect(data("chess")?["$ref"]?.string == "#/components/schemas/Person")
        #expect(data("clock")?.text == "{}", "nobody has this schema")
        #expect(all["components"]?["schemas"]?["dice.Person"]?["required"]?.text == #"["x"]"#)
    }

    @Test("a Message of a required service has the fields that services contribute, as optional members")
    func messageFields() throws {
        let message = Schema.named("Message", .object(["id": .id]))
        let list = RequestDescription("Lists.", gives: .array(of: message))
        let rooms = Manifest(service: "rooms", routes: [Route("GET", "/api/m", "rooms.list", shows: .messages)])
        var stars = Manifest(service: "stars", routes: [Route("GET", "/api/s", "stars.list")])
        stars.objectContributions[.messages] = Contribution(
            subject: "stars.messages",
            fields: [
                .init("stars", zero: JSONValue(0)), .init("by", zero: .emptyArray), .init("at", .time, zero: .null),
            ])
        let document = try document(
            rooms, stars,
            described: [
                "rooms": ServiceDescription(requests: ["rooms.list": list]),
                "stars": ServiceDescription(
                    requests: ["stars.list": list], objectFields: [.messages: ["by": .array(of: .id)]]),
            ])
        let schemas = try #require(document["components"]?["schemas"])
        let full = try #require(schemas["Message"])
        #expect(full["required"]?.text == #"["id"]"#)
        #expect(full["properties"]?.object?.names == ["id", "stars", "by", "at"])
        #expect(full["properties"]?["stars"]?.text == #"{"type":"integer"}"#)
        #expect(full["properties"]?["by"]?.text == #"{"type":"array","items":{"type":"string"}}"#)
        #expect(schemas["stars.Message"]?["properties"]?.object?.names == ["id"])
        let answer = document["paths"]?["/api/m"]?["get"]?["responses"]?["200"]?["content"]?["application/json"]?[
            "schema"]
        #expect(answer?["properties"]?["degraded"] != nil)
    }

    @Test("a Room has the fields and badges that services contribute")
    func room() throws {
        var rooms = Manifest(service: "rooms", routes: [Route("GET", "/api/rooms", "rooms.list", answer: .rooms)])
        rooms.contribution = Contribution(
            subject: "rooms.contribute",
            fields: [
                .badge("rolls"), .init("rolledAt", .time, role: .activity(type: "roll", sort: "rolls"), zero: .null),
                .init("lastRoll", zero: .null), .init("updatedAt", .laterTime, zero: .null),
            ])
        let described = ServiceDescription(fields: ["lastRoll": Self.roll.orNull])
        let document = try document(rooms, described: ["rooms": described])
        let schemas = try #require(document["components"]?["schemas"])
        #expect(schemas["Badges"]?["properties"]?.text == #"{"rolls":{"type":"integer"}}"#)
        let properties = try #require(schemas["Room"]?["properties"])
        #expect(properties["rolledAt"]?["type"]?.text == #"["string","null"]"#)
        #expect(properties["lastRoll"]?["anyOf"]?.array?.first?["$ref"]?.string == "#/components/schemas/Roll")
        #expect(properties["lastActivityType"]?["enum"]?.text == #"["roomUpdate","roll"]"#)
        #expect(properties["updatedAt"]?["type"]?.string == "string")
        let list = try #require(document["paths"]?["/api/rooms"]?["get"])
        #expect(list["parameters"]?.array?.first?["schema"]?["enum"]?.text == #"["activity","content","rolls"]"#)
        #expect(list["responses"]?["304"] != nil)
    }

    @Test("what OpenAPI has no place for is left out, and the rest is shown")
    func odd() throws {
        let odd = Manifest(
            service: "odd",
            routes: [
                Route("BREW", "/api/coffee", "odd.brew"), Route("GET", "api/a{b}/:x y/:x y", "odd.get"),
                Route("PUT", "/api/a{b}/:z/:w", "odd.put"), Route("GET", "/api/again/:id", "odd.get"),
            ])
        let paths = try #require(try document(odd)["paths"]?.object)
        #expect(paths.names == ["/healthz", "/api/a%7Bb%7D/{x_y}/{x_y_2}", "/api/again/{id}"])
        let item = try #require(paths["/api/a%7Bb%7D/{x_y}/{x_y_2}"])
        #expect(item["put"]?["parameters"]?.array?.map { $0["name"]?.string } == ["x_y", "x_y_2"])
        #expect(item["get"]?["operationId"]?.string == "odd.get")
        #expect(paths["/api/again/{id}"]?["get"]?["operationId"]?.string == "odd.get-2")
    }

    @Test("a flood of schemas makes a document of bounded size, in which each reference leads somewhere")
    func boundedSchemas() throws {
        let items = (0..<200).map { _ in Schema.reference("S999") }
        var description = ServiceDescription(
            requests: [
                "flood.get": RequestDescription("Gets.", gives: .anyOf([.reference("S100"), .reference("S999")]))
            ],
            fields: ["flood": .anyOf((0..<40_000).map { _ in .reference("S100") })])
        for number in 100...999 { description.schemas["S\(number)"] = .anyOf(items) }
        let manifest = Manifest(
            service: "flood", routes: [Route("GET", "/api/flood", "flood.get")],
            contribution: Contribution(subject: "flood.fields", fields: [.init("flood", zero: JSONValue(0))]))
        let document = try document(manifest, described: ["flood": description])
        #expect(document.bytes.count < ComponentSchemas.maxBytes + (64 << 10))
        let schemas = try #require(document["components"]?["schemas"])
        #expect(schemas["flood.S100"] != nil && schemas["flood.S999"] == nil)
        #expect(schemas["Room"]?["properties"]?["flood"]?.text == #"{"type":"integer"}"#)
        let answer = document["paths"]?["/api/flood"]?["get"]?["responses"]?["200"]?["content"]?["application/json"]
        let alternatives = answer?["schema"]?["properties"]?["data"]?["anyOf"]
        #expect(alternatives?.text == ##"[{"$ref":"#/components/schemas/flood.S100"},{}]"##)
    }

    @Test("a flood of routes makes a document of bounded size, with the required services' routes in it")
    func bounded() throws {
        let flood = (0..<4000).map { Route("GET", "/api/flood/\($0)", "flood.get") }
        let rooms = Manifest(service: "rooms", routes: [Route("GET", "/api/rooms", "rooms.list")])
        let json = OpenAPIDocument(Self.contents([Manifest(service: "flood", routes: flood), rooms])).json
        #expect(json.bytes.count < OpenAPIDocument.maxBytes + (64 << 10))
        #expect(json["paths"]?["/api/rooms"] != nil)
    }
}
