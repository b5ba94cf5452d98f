import ParlorContracts

/// The routes by path. Of two patterns that match, the one with the earlier literal segment wins:
/// `/rooms/my-rooms` before `/rooms/:roomId`. Of two equal patterns, the first one counts.
package struct RouteTable: Sendable {
    package enum Match {
        case route(Offered<Route>, parameters: [(name: String, value: String)])
        /// The path is known, but not with this method. The value has the path's methods, sorted.
        case otherMethods([String])
        case none
    }

    /// A node of the tree. `parameter` has at most one branch; it is an array, as a struct cannot contain itself.
    private struct Branch: Sendable {
        var literals: [String: Branch] = [:]
        var parameter: [Branch] = []
        /// The routes that end here, by method, with the names of their parameters in the order of the path.
        var routes: [String: (route: Offered<Route>, names: [String])] = [:]
    }

    private var root = Branch()

    package init(_ routes: [Offered<Route>]) {
        for route in routes {
            let segments = route.declaration.path.split(separator: "/").map(String.init)
            Self.insert(route, segments[...], into: &root)
        }
    }

    private static func insert(_ route: Offered<Route>, _ segments: ArraySlice<String>, into branch: inout Branch) {
        guard let first = segments.first else {
            let method = route.declaration.method
            guard branch.routes[method] == nil else { return }
            let parameters = route.declaration.path.split(separator: "/").filter { $0.hasPrefix(":") }
            branch.routes[method] = (route, parameters.map { String($0.dropFirst()) })
            return
        }
        if first.hasPrefix(":") {
            if branch.parameter.isEmpty { branch.parameter.append(Branch()) }
            insert(route, segments.dropFirst(), into: &branch.parameter[0])
        } else {
            insert(route, segments.dropFirst(), into: &branch.literals[first, default: Branch()])
        }
    }

    /// Finds the route for a method and a path.
    ///
    /// - Parameter segments: the decoded segments of the path.
    package func match(_ method: String, _ segments: [String]) -> Match {
        var values: [String] = []
        guard let branch = Self.find(segments[...], in: root, &values) else { return .none }
        guard let (route, names) = branch.routes[method] else { return .otherMethods(branch.routes.keys.sorted()) }
        return .route(route, parameters: zip(names, values).map { ($0, $1) })
    }

    private static func find(_ segments: ArraySlice<String>, in branch: Branch, _ values: inout [String]) -> Branch? {
        guard let first = segments.first else { return branch.routes.isEmpty ? nil : branch }
        if let next = branch.literals[first], let found = find(segments.dropFirst(), in: next, &values) { return found }
        guard let next = branch.parameter.first, !first.isEmpty else { return nil }
        values.append(first)
        if let found = find(segments.dropFirst(), in: next, &values) { return found }
        values.removeLast()
        return nil
    }
}
