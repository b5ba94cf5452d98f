import CParlorLinux
import Glibc

/// A joinable thread of the system with a name.
struct Thread: Sendable {
    private let id: pthread_t

    /// - Parameter name: the name that `top -H` and a debugger show; the kernel keeps 15 bytes.
    static func start(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) -> Thread {
        let start = Start(name: String(name.prefix(15)), body: body)
        let context = Unmanaged.passRetained(start)
        var id = pthread_t()
        let code = pthread_create(
            &id, nil,
            { context in
                // Passed below, and never nil.
                Unmanaged<Start>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw SystemError("pthread_create", code: code)
        }
        return Thread(id: id)
    }

    /// Waits for its end. Call either this or `detach`, once.
    func join() { pthread_join(id, nil) }

    /// Lets the thread end without a `join`.
    func detach() { pthread_detach(id) }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        func run() {
            pthread_setname_np(pthread_self(), name)
            body()
        }
    }
}
