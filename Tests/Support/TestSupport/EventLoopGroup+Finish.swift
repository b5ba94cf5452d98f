import ParlorReactor

/// Shuts a group down off the test's own thread, which a loop may need.
public func finish(_ group: EventLoopGroup) async {
    await Task.detached { group.shutdown() }.value
}
