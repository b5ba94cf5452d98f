import Contracts
import ServiceKit
import Storage

/// What the use cases of clients work with; each has a file of its own.
struct Push: Sendable {
    let database: any Database
    let clock: any WallClock
}
