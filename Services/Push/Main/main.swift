import ParlorOperations
import ParlorPush
import ParlorServiceKit

await Program(
    "parlor-push", "Devices, and push notifications of unread messages.", [.service(PushService.self), .operations]
).run()
