/// A peer's rights on the bus: for each operation the patterns of the subjects on which it is
/// allowed. A subject without a matching pattern is forbidden.
public struct BusRights: Sendable, Equatable {
    public enum Operation: String, Sendable, CaseIterable {
        case serve, request, publish, subscribe
    }

    public var serve: [String]
    public var request: [String]
    public var publish: [String]
    public var subscribe: [String]

    public init(
        serve: [String] = [], request: [String] = [], publish: [String] = [], subscribe: [String] = []
    ) {
        self.serve = serve
        self.request = request
        self.publish = publish
        self.subscribe = subscribe
    }

    public subscript(operation: Operation) -> [String] {
        switch operation {
        case .serve: serve
        case .request: request
        case .publish: publish
        case .subscribe: subscribe
        }
    }
}
