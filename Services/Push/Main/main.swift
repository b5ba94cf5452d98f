import Operations
import Push
import ServiceKit

await Program(
    "parlor-push", "Devices, and push notifications of unread messages.", [.service(PushService.self), .operations]
).run()
