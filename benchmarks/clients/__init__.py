"""Every client of a server, side by side: do they make the same bits?"""
