"""The labs: experiments on a model, and the mistakes that each of them must find."""
