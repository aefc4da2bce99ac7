let relay = PusherTestRelay(to: server)
