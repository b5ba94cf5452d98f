import Accounts
import Elements
import Messaging
import Push
import Rooms
import ServiceKit

/// Parlor's services, in the order in which they start.
public enum ParlorServices {
    public static let all: [any Service.Type] = [
        AccountsService.self,
        RoomsService.self,
        MessagingService.self,
        ElementsService.self,
        PushService.self,
    ]
}
