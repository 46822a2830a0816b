import sys, httpx
with httpx.Client(timeout=20) as client:
    for url in sys.argv[1:]:
        print(client.get(url).status_code)
