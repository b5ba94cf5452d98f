import Messaging
import Operations
import ServiceKit

await Program("parlor-messaging", "Messages and who has read them.", [.service(MessagingService.self), .operations])
    .run()
