import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The service's declaration, and its wiring.
public struct ExampleService: Service {
    public static let name = "example"
    public static let migrations = ItemsStore.migrations
    public static let peer = BusPeer.service(name, requests: [Subject.membership])
    public static let log: LogContents = [.clientEvents]
    public static let events = [EventDescription.added]

    private let items: Items

    public init(_ context: ServiceContext) {
        items = Items(ids: context.ids, clock: context.clock)
    }

    public func register(in requests: inout RequestTable) {
        let items = items
        requests.onRoom(.list) { try await items.list($0) }
        requests.onRoom(.add) { try await items.add($0) }
    }
}

extension Endpoint {
    private static let items = "/api/rooms/:roomId/example"

    fileprivate static let list = Endpoint("example.list").route("GET", items).described(.list)
    fileprivate static let add = Endpoint("example.add")
        .route("POST", items)
        .socketEvent("example:add", ackName: "item")
        .described(.add)
}
