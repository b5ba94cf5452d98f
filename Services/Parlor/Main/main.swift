import ParlorServices

await ParlorServices.run()
