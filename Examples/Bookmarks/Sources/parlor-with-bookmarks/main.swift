import Bookmarks
import ParlorServices

await ParlorServices.run(with: [BookmarksService.self])
