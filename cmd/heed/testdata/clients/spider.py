import os
import scrapy

class Spider(scrapy.Spider):
    """Follows the links of the first page and prints what came of each."""

    name = "spider"
    start_urls = [os.environ["START_URL"]]
    handle_httpstatus_list = [403]
    custom_settings = {"ROBOTSTXT_OBEY": False, "LOG_LEVEL": "ERROR", "RETRY_ENABLED": False}

    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, self.result)

    def result(self, response):
        print(response.status, response.url)
