import Foundation
import RoomsClient

/// A clock that stands still until a test advances it.
public final class TestClock: ClientClock {
    public init() {}
    public var now: Date { .distantPast }
    public func sleep(for duration: Duration) async throws {}
}
