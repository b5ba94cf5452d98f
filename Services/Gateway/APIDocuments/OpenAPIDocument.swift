import ParlorContracts
import ParlorJSON

/// `openapi.json`: all routes (OpenAPI 3.1).
///
/// It is valid whatever a service announces. What has no place in the standard, such as a method that OpenAPI
/// does not define, is left out.
struct OpenAPIDocument {
    private let contents: APIContents
    private var schemas: ComponentSchemas { contents.schemas }

    /// The size from which other routes are left out.
    static let maxBytes = 2 << 20
    private static let methods: Set<String> = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH"]

    init(_ contents: APIContents) { self.contents = contents }

    /// The routes of one path.
    private struct PathItem {
        let path: RoutePath
        /// Each with the names of its own parameters.
        var routes: [(offer: APIContents.Offer, route: Route, names: [String])]
    }

    var json: JSONValue {
        JSONWriter.object(reservingCapacity: 256 << 10) { json in
            json.member("openapi", "3.1.0")
            APIContents.writeInfo(Self.introduction, to: &json)
            json.member("servers", array: { $0.object { $0.member("url", "/") } })
            json.member(
                "tags",
                array: {
                    for offer in contents.offers {
                        let name = offer.service
                        $0.object { $0.member("name", name) }
                    }
                })
            json.member("paths", object: writePaths)
            json.member("components", object: writeComponents)
        }
    }

    private static let introduction = """
        What this server offers now: its own routes, and those of each service that has announced itself. A success \
        is `{"data": …}`, a failure `{"error": {"code", "message", "requestId"}}`. Times are ISO 8601 in UTC. Fields and \
        codes may be added. docs/api.md has the rules that a schema cannot express.
        """

    // MARK: Paths

    private func writePaths(to json: inout JSONWriter) {
        var operationIDs = UniqueNames()
        var isFull = false
        for item in pathItems {
            guard !isFull else { return }
            json.member(
                item.path.template,
                object: { json in
                    var seen: Set<String> = []
                    for (offer, route, names) in item.routes where seen.insert(route.method).inserted {
                        let id = operationIDs.name(for: route.subject)
                        // Write the operation separately, to check its size first: it may not fit into what is left.
                        let operation = JSONWriter.object(reservingCapacity: 4096) {
                            write(route, of: offer, naming: names, at: item.path, id: id, to: &$0)
                        }
                        isFull = json.bytes.count + operation.bytes.count > Self.maxBytes
                        guard !isFull else { return }
                        json.member(route.method.lowercased(), operation)
                    }
                })
        }
    }

    /// The routes by path. Two paths that differ only in the names of parameters are one.
    private var pathItems: [PathItem] {
        var items: [PathItem] = []
        var places: [String: Int] = [:]
        for offer in contents.offers {
            for route in offer.manifest.routes where Self.methods.contains(route.method) {
                let path = RoutePath(route.path)
                if let place = places[path.key] {
                    items[place].routes.append((offer, route, path.parameters))
                } else {
                    places[path.key] = items.count
                    items.append(PathItem(path: path, routes: [(offer, route, path.parameters)]))
                }
            }
        }
        return items
    }

    // MARK: One route

    private func write(
        _ route: Route, of offer: APIContents.Offer, naming names: [String], at path: RoutePath, id: String,
        to json: inout JSONWriter
    ) {
        let request = offer.request(route.subject)
        let taken = request.map { schemas.members(of: $0.takes, in: offer.service) } ?? []
        json.member("operationId", id)
        json.member("tags", array: { $0.string(offer.service) })
        if let summary = request?.summary, !summary.isEmpty { json.member("summary", summary) }
        if route.needsLogin { json.member("security", array: { $0.object { $0.member("token", array: { _ in }) } }) }
        if !route.limits.isEmpty { json.member("x-limits", array: { for limit in route.limits { $0.string(limit) } }) }
        let inPath = zip(names, path.parameters).map { name, shown in
            Schema.Member(shown, taken.first { $0.name == name }?.schema ?? .string)
        }
        let others = taken.filter { !names.contains($0.name) }
        json.member(
            "parameters",
            array: { json in
                for member in inPath { write(member, in: "path", of: offer, to: &json) }
                guard !route.hasBody else { return }
                for member in others { write(member, in: "query", of: offer, to: &json) }
                if route.answer == .rooms, !others.contains(where: { $0.name == "sort" }) {
                    let sort = Schema.Member("sort", .choice(contents.sorts), isRequired: false)
                    write(sort, in: "query", of: offer, to: &json)
                }
            })
        if route.hasBody { write(others, bodyOf: route, of: offer, to: &json) }
        json.member("responses", object: { writeResponses(of: route, request, of: offer, to: &$0) })
    }

    private func write(
        _ member: Schema.Member, in place: String, of offer: APIContents.Offer, to json: inout JSONWriter
    ) {
        json.object {
            $0.member("name", member.name)
            $0.member("in", place)
            $0.member("required", member.isRequired)
            $0.name("schema")
            schemas.write(member.schema, of: offer.service, to: &$0)
        }
    }

    private func write(
        _ members: [Schema.Member], bodyOf route: Route, of offer: APIContents.Offer, to json: inout JSONWriter
    ) {
        json.member(
            "requestBody",
            object: { json in
                json.member("required", members.contains(where: \.isRequired))
                json.member("x-max-bytes", route.maxBodyBytes)
                writeContent(.object(members), of: offer.service, to: &json)
            })
    }

    /// Writes the member `content` with the schema of its JSON.
    private func writeContent(_ schema: Schema, of service: String, to json: inout JSONWriter) {
        json.member(
            "content",
            object: {
                $0.member(
                    "application/json",
                    object: {
                        $0.name("schema")
                        schemas.write(schema, of: service, to: &$0)
                    })
            })
    }

    // MARK: Responses

    private func writeResponses(
        of route: Route, _ request: RequestDescription?, of offer: APIContents.Offer, to json: inout JSONWriter
    ) {
        let form = offer.forms[route.subject]
        if case .bare(_, let statuses) = form {
            for status in statuses where status != 304 {
                json.member(String(status), object: { writeSuccess(of: route, request, form, of: offer, to: &$0) })
            }
            if statuses.contains(304) { json.member("304", object: Self.writeUnchanged) }
            return json.member("429", object: { writeFailure([.rateLimited], to: &$0) })
        }
        for status in request?.statuses ?? [] where status != Reply.Status.noContent.rawValue {
            json.member(String(status), object: { writeSuccess(of: route, request, form, of: offer, to: &$0) })
        }
        if request?.statuses.contains(Reply.Status.noContent.rawValue) == true {
            json.member("204", object: { $0.member("description", "Done.") })
        }
        if request == nil { json.member("2XX", object: { writeSuccess(of: route, nil, form, of: offer, to: &$0) }) }
        if route.answer == .rooms { json.member("304", object: Self.writeUnchanged) }
        let codes = Self.errors(of: route) + (request?.errors ?? [])
        for (status, codes) in Dictionary(grouping: codes, by: \.status).sorted(by: { $0.key < $1.key }) {
            json.member(String(status), object: { writeFailure(codes, to: &$0) })
        }
        if request == nil { json.member("4XX", object: { writeFailure([], to: &$0) }) }
    }

    private func writeSuccess(
        of route: Route, _ request: RequestDescription?, _ form: OwnAPI.Form?, of offer: APIContents.Offer,
        to json: inout JSONWriter
    ) {
        json.member("description", "The answer.")
        switch form {
        case .bare(let schema, _): writeContent(schema, of: offer.service, to: &json)
        case .text(let type): json.member("content", object: { $0.member(type, object: { _ in }) })
        case nil:
            let gives = request?.gives ?? .any
            var members = [Schema.Member("data", route.answer.data(of: gives))]
            if request.map(\.isPaged) ?? (route.answer == .plain) {
                let page = Schema.object(["next": Schema.string.orNull.noted("The cursor of the next page.")])
                members.append(Schema.Member("page", page, isRequired: request != nil))
            }
            if route.answer != .plain || route.shows != nil {
                let names = Schema.array(of: .string).noted(
                    "The services whose fields may be old, because they did not answer.")
                members.append(Schema.Member("degraded", names, isRequired: false))
            }
            writeContent(.object(members), of: offer.service, to: &json)
        }
    }

    private static func writeUnchanged(to json: inout JSONWriter) {
        json.member("description", "Nothing has changed since the ETag of If-None-Match.")
    }

    /// Returns the errors that a gateway itself answers with.
    private static func errors(of route: Route) -> [ErrorCode] {
        [.malformedRequest] + (route.needsLogin ? [.unauthenticated] : []) + (route.hasBody ? [.payloadTooLarge] : [])
            + [.rateLimited, .internal, .serviceUnavailable]
    }

    private func writeFailure(_ codes: [ErrorCode], to json: inout JSONWriter) {
        if codes.count == 1, codes[0].isOfContract {
            return json.member("$ref", "#/components/responses/\(codes[0].rawValue)")
        }
        writeResponse(of: codes, to: &json)
    }

    private func writeResponse(of codes: [ErrorCode], to json: inout JSONWriter) {
        let names = codes.map(\.rawValue)
        json.member("description", names.isEmpty ? "An error." : names.joined(separator: ", "))
        if codes.contains(where: { $0 == .rateLimited || $0 == .serviceUnavailable }) {
            json.member(
                "headers",
                object: {
                    $0.member(
                        "Retry-After",
                        object: {
                            $0.member("description", "In seconds.")
                            $0.member("schema", Schema.integer.json)
                        })
                })
        }
        writeContent(APIError.schema(of: names), of: ComponentSchemas.gateway, to: &json)
    }

    // MARK: Components

    private func writeComponents(to json: inout JSONWriter) {
        json.member(
            "securitySchemes",
            object: {
                $0.member(
                    "token",
                    object: {
                        $0.member("type", "http")
                        $0.member("scheme", "bearer")
                    })
            })
        json.member(
            "responses",
            object: { json in
                for code in ErrorCode.ofContract {
                    json.member(code.rawValue, object: { writeResponse(of: [code], to: &$0) })
                }
            })
        schemas.write(to: &json)
    }
}

extension Route {
    fileprivate var hasBody: Bool { method == "POST" || method == "PUT" || method == "PATCH" }
}

extension Route.Answer {
    /// Returns the schema of the answer's data.
    ///
    /// - Parameter gives: the schema of what the service replies with.
    fileprivate func data(of gives: Schema) -> Schema {
        switch self {
        case .plain, .participants: gives
        case .room: .room
        case .rooms: .array(of: .room)
        case .roomsByPerson: .array(of: .allOf([gives, .object(["rooms": .array(of: .room)])]))
        }
    }
}
