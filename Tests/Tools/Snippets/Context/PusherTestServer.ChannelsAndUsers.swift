var options = PusherTestServer.Options()
